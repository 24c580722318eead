"""Algorithms for changing means: they forget, detect changes, or are told about them. One factory function per name.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

from jaxbandit.algorithms.non_stationary.cusum_ucb import cusum_ucb
from jaxbandit.algorithms.non_stationary.d_ucb import d_ucb
from jaxbandit.algorithms.non_stationary.discounted_thompson import discounted_thompson
from jaxbandit.algorithms.non_stationary.glr_klucb import glr_klucb
from jaxbandit.algorithms.non_stationary.m_ucb import m_ucb
from jaxbandit.algorithms.non_stationary.oracle_restart import oracle_restart
from jaxbandit.algorithms.non_stationary.sw_ucb import sw_ucb

__all__ = [
    "cusum_ucb",
    "d_ucb",
    "discounted_thompson",
    "glr_klucb",
    "m_ucb",
    "oracle_restart",
    "sw_ucb",
]
