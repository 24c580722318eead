"""The two contracts, what is declared about a factory and true of an instance, and what is measured of a run."""
