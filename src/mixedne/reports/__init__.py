"""Figures and HTML pages made from tables; nothing here needs JAX or MuJoCo.

``report``    ``mixedne.report``: makes a page, and figures, from paths
``card``      ``mixedne.card``: a run's model card
``inputs``    computes a report's numbers from run folders, tables and studies
``tables``    the tables of a report
``figures``   figures in the paper's form, with Matplotlib
``page``      one HTML file, with Plotly
``style``     names and styles that both use
"""
