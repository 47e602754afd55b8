"""What columns do to the mean of y: average effects, and intervals of predictions."""
