"""Which noise do the data support: candidates, folds, scores of recorded cells, and the sentence."""
