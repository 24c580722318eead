"""Greedy peeling as in Algorithm 1 of Kuroki et al. (2019), with the edge weights and one vertex at a time."""


def peel(weights, k):
    """Return the k vertices left; among equal degrees the lowest-numbered vertex is removed first."""
    left = list(range(len(weights)))
    while len(left) > k:
        degrees = [sum(weights[i][j] + weights[i][i] + weights[j][j] for j in left if j != i) for i in left]
        del left[degrees.index(min(degrees))]
    return left
