"""Fits in other words: predictions as SQL."""
