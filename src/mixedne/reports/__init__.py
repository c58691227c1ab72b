"""Figures and pages made from tables alone: nothing here needs JAX or MuJoCo.

``report``    ``mixedne.report``: a page, and figures, from paths
``card``      ``mixedne.card``: a run's model card
``inputs``    from run folders, tables and studies to the numbers of a report
``tables``    the tables that a report is
``figures``   Matplotlib, in the paper's form
``page``      one HTML file, with Plotly
``style``     how both name things, and how both look
"""
