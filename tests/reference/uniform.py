"""Uniform exploration in NumPy: one uniform number per round determines the arm."""

import numpy as np


def play(rewards, noise):
    return np.floor(np.asarray(noise) * rewards.shape[1]).astype(int)
