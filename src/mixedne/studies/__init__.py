"""Studies: whole experiments, described by a file; planning, running, resuming and results.

``spec``         reads a study file: what to train, how to evaluate it, what to search
``plan``         expands a study into runs
``scheduler``    ``run_study``: gives jobs to an executor; retries, waiting, progress
``local``        an executor with worker processes on this machine
``ray``          an executor for a Ray cluster
``jobs``         the code of a worker: train and evaluate one job
``folder``       the study folder, and which of its runs are finished
``results``      ``mixedne.results``: evaluation tables of many runs as one; selection in searches
``costs``        estimates of run times, from unit costs that can be measured
"""
