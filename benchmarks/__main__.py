"""`python -m benchmarks all` runs every benchmark and writes each table into its page; parts can be named.

`revisions REV_A REV_B` measures two revisions of the library in alternation, as `jaxbandit bench` does.
`ahead_of_time --target h100` compiles every algorithm for an accelerator without one; `devices` measures the
memory of four devices at an accelerator's sizes; `gpu` measures on a GPU, for which it needs only JAX and
NumPy, and `gpu_bytes` plays every algorithm there in two ways that must have the same bytes. `peers
--peers PYTHON` measures beside seven other libraries, for results/peers.md, `contextual_peers` what some of them say of
contexts and logs, and `baseline_peers` each rule of SMPyBandits, if that interpreter has them; `open_bandit FOLDER`
evaluates a policy on the logs of a shop.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Sequence

import benchmarks
from benchmarks import results_file

PARTS = benchmarks.__all__
# Those with options of their own.
PROGRAMS = "revisions ahead_of_time devices gpu gpu_bytes peers contextual_peers baseline_peers open_bandit".split()


def main(argv: Sequence[str]) -> int:
    """Run what `argv` asks for, print a table or JSON, and return the exit status."""
    if argv and argv[0] in PROGRAMS:
        return importlib.import_module(f"benchmarks.{argv[0]}").main(argv[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)}; all: run and write every one; or: revisions A B")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--write", action="store_true", help="write the tables and figures into benchmarks/")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the tables")
    asked = parser.parse_args(argv)
    names = PARTS if asked.part in ([], ["all"]) else asked.part
    writes = asked.write or asked.part == ["all"]
    if unknown := [part for part in names if part not in PARTS]:
        parser.error(f"part = {unknown[0]!r}, must be one of {', '.join(PARTS)}, all, revisions")
    if writes and asked.quick:
        parser.error("quick = True with write, must be without: what is written is measured in full")

    from benchmarks import machine  # these import JAX, which `--help` does without

    result: dict = {"machine": machine.machine()}
    texts = [machine.text(result["machine"])]
    for name in names:
        part = getattr(benchmarks, name)
        result[name] = part.measure(asked.quick)
        texts.append(part.table(result[name]))
        if writes:  # at once, because a later part may fail
            results_file.write(name, texts[0], texts[-1])
            for path in part.figures(result[name]) if hasattr(part, "figures") else ():
                print(path, file=sys.stderr)
    print(json.dumps(result) if asked.json else "\n\n".join(texts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
