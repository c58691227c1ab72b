"""Figures and pages made from tables alone: nothing here needs JAX or MuJoCo."""
