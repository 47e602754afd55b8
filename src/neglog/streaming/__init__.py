"""The same question about rows that are not in memory: every sum over rows is one pass over the pieces of a source."""
