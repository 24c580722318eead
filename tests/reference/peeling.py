"""Greedy peeling as Algorithm 1 of Kuroki et al. (2019) writes it: the edge weights, and one vertex at a time."""


def peel(weights, k):
    """Return the k vertices left; of equal degrees the lowest vertex goes first."""
    left = list(range(len(weights)))
    while len(left) > k:
        degrees = [sum(weights[i][j] + weights[i][i] + weights[j][j] for j in left if j != i) for i in left]
        del left[degrees.index(min(degrees))]
    return left
