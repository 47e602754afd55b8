"""What is believed after the data: Bayes' rule, posteriors, draws, standard errors, leave-one-out."""
