"""A noise, its y and its predictors as what a solver minimises: the question, and what is said of its answer."""
