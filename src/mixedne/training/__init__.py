"""Training: from a configuration to a run folder.

``run``           ``mixedne.train``: collect, update, log, evaluate, save, for one run or several
``training_run``  one run in training: its state, metrics and checkpoints
``collection``    collects the transitions of off-policy runs into a ``replay``
``updates``       outer steps of the solver, in compiled programs
``folder``        the run folder; ``checkpoints`` and ``metrics`` in it
"""
