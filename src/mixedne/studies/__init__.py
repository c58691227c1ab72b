"""Studies: whole experiments as data, planned, run, resumed and tabulated.

``spec``         reads a study file: what to train, how to evaluate it, what to search
``plan``         expands it into runs
``scheduler``    ``run_study``: gives jobs to an executor; retries, waiting, progress
``local``        the executor with worker processes on this machine
``ray``          the executor for a Ray cluster
``jobs``         what a worker does: train and evaluate one job
``folder``       the study folder, and which of its runs are finished
``results``      ``mixedne.results``: the evaluation tables of many runs as one; a search's choice
``costs``        how long it takes, by unit costs that can be measured
"""
