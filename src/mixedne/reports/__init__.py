"""Figures and pages made from tables alone: nothing here needs JAX or MuJoCo.

``reading``   from run folders, tables and studies to the numbers of a report
``frames``    the tables that a report is
``figures``   Matplotlib, in the paper's form
``page``      one HTML file, with Plotly
``style``     how both look
"""
