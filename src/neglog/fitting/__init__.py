"""The verbs `nl.fit` and `nl.path`: from arguments to a fit."""
