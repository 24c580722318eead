"""Functions of arrays that know nothing of bandits."""
