"""A fit as an object: what it found, its summary, and how it is kept."""
