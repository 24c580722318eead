"""`python -m benchmarks`: all of the benchmarks, or those named; or two revisions of the library in alternation."""

import argparse
import importlib
import json
import sys
from collections.abc import Sequence

from benchmarks import revisions

PARTS = tuple("regret stopping best_arm linear allocation full_bandit halving tune non_stationary teams worlds cluster".split())


def main(argv: Sequence[str]) -> int:
    """Run what `argv` asks for, print a table or JSON, and return the exit status."""
    if argv[:1] == ["revisions"]:
        return revisions.main(argv[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)} (default: all), or: revisions REV_A REV_B")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the tables")
    asked = parser.parse_args(argv)
    if unknown := [part for part in asked.part if part not in PARTS]:
        parser.error(f"part = {unknown[0]!r}, must be one of {', '.join(PARTS)}, revisions")

    from benchmarks import machine  # these import JAX, which `--help` does without

    result: dict = {"machine": machine.machine()}
    texts = [machine.text(result["machine"])]
    for name in asked.part or PARTS:
        part = importlib.import_module(f"benchmarks.{name}")
        result[name] = part.measure(asked.quick)
        texts.append(part.table(result[name]))
    print(json.dumps(result) if asked.json else "\n\n".join(texts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
