"""Compute a report's tables from the files of runs and studies.

``files``       finds what there is at the given paths
``methods``     methods of configurations: their names and commands
``numbers``     every run's return at every shift; sweeps, maps and summaries over seeds
``training``    learning curves and searches; ``published``  published curves
``collect``     puts all of it together
"""
