"""A process that plays many new objects: `python many_objects.py KIND NUMBER MOST` prints its memory in MiB after each.

MOST is the number of programs that the package keeps.
"""

import ctypes
import gc
import os
import sys

import jaxbandit as jb
from jaxbandit.engine.layout import compiled

ARMS = jb.environments.bernoulli([0.4, 0.6])


def own(rule):
    """An algorithm that shares its programs with no other, because a function of it was replaced."""
    return rule._replace(pulls=lambda state: rule.pulls(state))


PLAYED = {
    "simulate": lambda: jb.simulate(own(jb.algorithms.ucb1(2)), ARMS, horizon=4, num_runs=1, checkpoints=[4]),
    "identify": lambda: jb.identify(own(jb.algorithms.lucb(2, delta=0.3)), ARMS, num_runs=1, max_rounds=4),
    "session": lambda: jb.ask(jb.session(own(jb.algorithms.ucb1(2)))),
}


def memory():
    """What the process holds, without what the allocator could return."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    compiled.MOST = int(sys.argv[3])
    for _ in range(int(sys.argv[2])):
        PLAYED[sys.argv[1]]()
        print(f"{memory():.1f}", flush=True)
