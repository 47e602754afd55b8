"""Priors of terms whose scales are learned by the maximum of the evidence."""
