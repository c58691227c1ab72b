"""Training: from a configuration to a run folder.

``run``           ``mixedne.train``
``trainer``       collect, update, log, evaluate, save, for one run or several together
``training_run``  one run in training: its state, metrics and checkpoints
``experience``    what an off-policy run has collected: ``collection`` into ``replay``
``updates``       one protocol for outer steps: ``off_policy`` and ``on_policy``
``folder``        the run folder; ``checkpoints`` and ``metrics`` in it
"""
