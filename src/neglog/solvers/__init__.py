"""One algorithm, one file; each takes data through a small protocol and hands back its proof of optimality."""
