"""A learned rule as a table: taken from a network, consolidated, proved, run."""
