"""From what runs and studies leave behind to a report's tables.

``files``       what lies at the paths given
``methods``     which method a configuration is of, and what it is called
``runs``        every run's return at every shift
``numbers``     sweeps, maps and summaries over training seeds
``learning``, ``searches``, ``published``, ``commands``   the other parts
``collect``     all of it
"""
