"""Upper bounds of the differences between the means of several samples, for all sample sizes at once.

The scores of two arms may depend on each other within a row, but not between rows. Samples are lists of float64 arrays,
one for each arm, in the order of the rows; NaN stands for a row in which the arm was not observed, and ends what is
compared with other arms.
"""
