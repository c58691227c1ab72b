"""From what runs and studies leave behind to a report's tables.

``files``       what lies at the paths given
``methods``     what configurations say: which method, its name, its command
``numbers``     every run's return at every shift; sweeps, maps and summaries over seeds
``training``    learning curves and searches; ``published``  curves of others
``collect``     all of it
"""
