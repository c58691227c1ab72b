"""The paper's case study (Section 4): two-number games that trap gradient methods.

``objectives``   the three games, their gradients and their measures; plain NumPy
``settings``     starts and numbers: the paper's, and those of the authors' scripts
``experiment``   runs solvers on the games, many seeds at once
``tables``       one row per seed, and summaries over seeds
``flows``        the continuous-time dynamics of Theorems 1 and 2
``theorems``     what Section 4 claims, checked by computation
"""
