"""CascadeUCB1 in NumPy, from the paper, with items that nobody has read first."""

import numpy as np


def play(attracts, k, c=1.5):
    """`attracts[t, a]` says whether an item attracts; returns the lists and the clicks."""
    rounds, num_arms = attracts.shape
    read, clicks, lists, clicked = np.zeros(num_arms), np.zeros(num_arms), [], []
    for t in range(1, rounds + 1):
        index = np.full(num_arms, np.inf)
        some = read > 0
        index[some] = clicks[some] / read[some] + np.sqrt(c * np.log(max(t - 1, 1)) / read[some])
        items = np.argsort(-index, kind="stable")[:k]
        where = next((place for place in range(k) if attracts[t - 1, items[place]]), k)
        for place, item in enumerate(items):
            if place <= where:
                read[item] += 1
                clicks[item] += place == where
        lists.append(items)
        clicked.append(where)
    return np.array(lists), np.array(clicked)
