"""Studies: whole experiments as data, planned, run, resumed and tabulated.

``spec``         reads a study file: what to train, how to evaluate it, what to search
``plan``         expands it into runs with stable identifiers
``store``        the study folder, and which of its runs are finished
``work``         one job: train, then evaluate
``schedule``     jobs through an executor: retries, waiting, counting
``local``        worker processes on this machine; ``ray`` is a cluster
``search``       chooses hyperparameters by nominal return
``results``      ``mixedne.results``: the evaluation tables of many runs as one
``costs``        how long it takes; ``calibration`` measures this machine
"""
