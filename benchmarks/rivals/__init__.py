"""One file per rival; each says which of the problems it can do, and how."""
