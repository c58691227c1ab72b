"""From what runs and studies leave behind to a report's tables.

``found``       what lies at the paths given
``runs``        every run's return at every shift, and what the method is called
``numbers``     sweeps, maps and summaries over training seeds
``learning``, ``searches``, ``published``   the other tables
``collect``     all of it
"""
