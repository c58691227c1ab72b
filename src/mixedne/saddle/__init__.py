"""The paper's case study (Section 4): two-number games that trap gradient methods.

``objectives``   the three games, their gradients, measures and settings; plain NumPy
``experiment``   runs solvers on the games, many seeds in parallel
``tables``       one row per seed, and summaries over seeds
``theorems``     numerical checks of the claims of Section 4
"""
