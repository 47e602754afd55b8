"""The most probable values: which solver answers which question, priors whose scale is learned, and diagnosis."""
