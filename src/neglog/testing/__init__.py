"""What could be chance: errors that hold where the noise is wrong, and tests of one fit and between two."""
