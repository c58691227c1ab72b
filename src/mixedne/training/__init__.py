"""Training: from a configuration to a run folder.

``config``        what determines a run, and the presets
``run``           ``mixedne.train``
``loop``          collect, update, tell, evaluate, save
``collection``    the players act in the task
``updates``       one protocol for outer steps: ``off_policy`` and ``on_policy``
``checkpoints``   saving, and going on after a crash
"""
