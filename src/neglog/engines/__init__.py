"""Where the rows live: each engine sums the loss and its derivatives over them."""
