"""Run attacks larger than the tests do, and write their table into SECURITY.md.

python -m tests.attack --tries 1000 --write
python -m tests.attack --only 'flips in saved sessions' --seed 0 --number 17
"""

import argparse
import contextlib
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # of the modules beside this package
PAGE = Path(__file__).parents[2] / "SECURITY.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


def table(rows: list[tuple[str, int, int, int, int]], seed: int) -> str:
    """The section of the page."""
    import jax

    import jaxbandit

    lines = ["| attack | tries | refused | harmless | failures |", "|---|---|---|---|---|"]
    lines += [f"| {row[0]} | " + " | ".join(f"{number:,}" for number in row[1:]) + " |" for row in rows]
    versions = f"jaxbandit {jaxbandit.__version__}, JAX {jax.__version__}, Python {sys.version.split()[0]}, seed {seed}"
    return "\n".join([*lines, "", f"Written by `python -m tests.attack --write` with {versions}."])


def grouped(failures: list[str]) -> dict[str, list[str]]:
    """Failures that differ only in numbers and places, by what they share."""
    groups: dict[str, list[str]] = {}
    for failure in failures:
        words = failure.partition(": ")[2]
        groups.setdefault(re.sub(r"\d+|'[^']*'|/\S+", "", words)[:400], []).append(failure)
    return groups


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tries", type=int, help="of each attack, at most fifty times those of the tests; default: the tests'"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="an attack whose name contains this; repeatable")
    parser.add_argument("--number", type=int, help="this try alone")
    parser.add_argument("--write", action="store_true", help="write the table into SECURITY.md")
    asked = parser.parse_args()
    os.environ.setdefault("XDG_CACHE_HOME", str(Path(__file__).parents[2] / ".pytest_cache" / "d"))
    from .attacks import ATTACKS
    from .names import opened_browser
    from .outcomes import attempt
    from .workshop import Workshop, in_temporary_directory

    rows, failed = [], 0
    with (
        in_temporary_directory() as root,
        contextlib.closing(Workshop(Path(root))) as workshop,
        opened_browser() as browser,
    ):
        workshop.browser = browser
        for attack in ATTACKS:
            if asked.only and not any(text in attack.name for text in asked.only):
                continue
            tries = min(asked.tries, 50 * attack.tries) if asked.tries else attack.tries
            tries = min(tries, attack.most(workshop)) if attack.most else tries
            numbers = range(tries) if asked.number is None else range(asked.number, asked.number + 1)
            begun = time.monotonic()
            tally = attempt(attack, workshop, asked.seed, numbers)
            row = (attack.name, tally.tries, tally.refused, tally.harmless, len(tally.failures))
            print(f"{time.monotonic() - begun:6.1f} s  {row}", flush=True)
            for alike in grouped(tally.failures).values():
                print(f"  {len(alike)} like {alike[0]}", flush=True)
            rows.append(row)
            failed += len(tally.failures)
    if asked.write and not asked.only:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(
            f"{before}{BEGIN}\n\n{table(rows, asked.seed)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )
    return failed > 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
