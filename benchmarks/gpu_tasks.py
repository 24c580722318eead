"""The process that `python -m benchmarks gpu` asks: it answers each line of JSON on stdin with one on stdout.

A line names a function of FUNCTIONS and its arguments. The answer is what the function returns, or what it raised.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any


def main(argv: Sequence[str]) -> int:
    """Answer tasks on the platform that `argv` names until stdin ends; return the exit status."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    import jax

    from benchmarks import gpu_agreement, gpu_limits, gpu_loops, gpu_stops

    functions: dict[str, Callable[..., dict[str, Any]]] = {
        function.__name__: function
        for function in (
            *(gpu_limits.device, gpu_limits.copy, gpu_limits.launches),
            *(gpu_loops.rounds, gpu_loops.call),
            *(gpu_agreement.pulls, gpu_agreement.arithmetic),
            *(gpu_stops.lanes, gpu_stops.tune, gpu_stops.successive_halving),
        )
    }

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    (wanted,) = argv
    if (found := jax.devices()[0].platform) != wanted:
        print(f"JAX finds no {wanted}, but {found}", file=sys.stderr)
        return 1
    say({"platform": found})
    for line in sys.stdin:
        task = json.loads(line)
        try:
            say(functions[task["function"]](**task["given"]))
        except Exception as error:  # whatever it is, it is the row
            say({"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
