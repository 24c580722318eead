"""Uniform exploration in NumPy: a uniform draw a round decides the arm."""

import numpy as np


def play(rewards, noise):
    return np.floor(np.asarray(noise) * rewards.shape[1]).astype(int)
