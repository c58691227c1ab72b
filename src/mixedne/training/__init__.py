"""Training: from a configuration to a run folder.

``config``        what determines a run, and the presets
``run``           ``mixedne.train``
``loop``          collect, update, tell, evaluate, save
``collection``    the players act in the task
``updates``       outer steps, packed into calls of the compiled ``program``
``checkpoints``   saving, and going on after a crash
"""
