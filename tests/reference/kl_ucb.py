"""kl-UCB in NumPy: UCB(d_kl) by bisection."""

from reference.ucb import d_kl, play_index, solve


def play(rewards, c=0.0, ties=None):
    return play_index(lambda p, delta: solve(d_kl, p, delta), rewards, c, ties)
