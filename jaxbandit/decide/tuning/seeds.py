"""The random seeds of trainings: keys of JAX, or integers for other libraries.

An integer seed is in [0, 2^31), which all libraries accept. Integers that small must not be drawn at random, or cut
from a key, because two trainings with one seed are one training that counts twice. The seeds of a search are therefore
the images of 0, 1, 2, ... under a permutation of [0, 2^31), which `seed` selects.
"""

import hashlib

import jax
import numpy as np

from jaxbandit.engine.rounds import keys

MASK = np.uint64(2**31 - 1)  # of the bits of an integer seed
# Odd, so that multiplication is a permutation; from the finalizers of MurmurHash3 and of xxHash.
FACTORS = (0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F, 0x165667B1)


def pull_words(seed: int, index: np.ndarray, arms: np.ndarray, *, paired: bool, integer: bool) -> np.ndarray:
    """Return what trainings receive as their random seeds, as two words each, uint32[n, 2].

    For a key, they are its data: that of fold_in(root, index), or of fold_in(fold_in(root, index), arm) unless the
    search is paired. An integer seed is the second word. `index`, the numbers of the seeds, is below 2^32.
    """
    if integer:
        return np.stack([np.zeros(len(index), np.uint32), integers(seed, index, None if paired else arms)], axis=-1)
    own = np.zeros(len(arms), np.int32) if paired else arms
    return np.asarray(jax.random.key_data(keys.pull_keys(seed, 0, index, own, paired)))


def integers(seed: int, index: np.ndarray, arms: np.ndarray | None) -> np.ndarray:
    """Return integer seeds, uint32[n] below 2^31.

    They are distinct for distinct indices, of which those from 2^31 on are counted from the other end. With arms, they
    are distinct for distinct (index, arm) while index + arm < 65,535, and like random ones beyond that.
    """
    index = np.asarray(index).astype(np.uint64)
    number = np.where(index > MASK, np.uint64(2**32 - 1) - index, index)
    if arms is not None:  # pairs are numbered along diagonals, after Cantor, whatever the number of arms
        diagonal = number + np.asarray(arms).astype(np.uint64)
        number = (diagonal * (diagonal + np.uint64(1)) // np.uint64(2) + np.asarray(arms).astype(np.uint64)) & MASK
    shifts = np.frombuffer(hashlib.sha256(f"integer seeds {seed}".encode()).digest()[:16], "<u4").astype(np.uint64)
    for shift, factor in zip(shifts, FACTORS, strict=True):
        number = (number + shift) & MASK
        number = ((number ^ (number >> np.uint64(15))) * np.uint64(factor)) & MASK
    return (number ^ (number >> np.uint64(16))).astype(np.uint32)
