"""Write the numbers of paper.md, each of which stands between <!--NAME--> and <!---->.

`python docs/paper/write_numbers.py` takes them from benchmarks/RESULTS.md and the pages that it lists.
"""

import re
from pathlib import Path

PAPER = Path(__file__).parent / "paper.md"
BENCHMARKS = PAPER.parents[2] / "benchmarks"
# Where these pages have a number: the first group.
PLACES = {
    "ucb1_ns": r"^\| ucb1, K = 9, over C \|.*\(([\d.]+) and",
    "ucb1_over_c": r"^\| ucb1, K = 9, over C \| [\d.]+ \| ([\d.]+) ",
    "rules": r"For \d+ of the (\d+) rules neither the regrets nor",
    "rules_agree": r"For (\d+) of the \d+ rules neither the regrets nor",
    "kl_ucb_peer_us": r"^kl_ucb  .* ([\d.]+) +[\d.]+ +\d+ +[\d.]+$",
    "kl_ucb_ours_ns": r"^kl_ucb  .*\+-.* (\d+) +[\d.]+$",
    "lanes_busy": r"^lingape greedy, soare, K = 6, d = 5 +[\d.]+ +([\d.]+)%",
    "lanes_faster": r"^lingape greedy, soare, K = 6, d = 5 +[\d.]+ +[\d.]+% +[\d.]+ +([\d.]+)x",
    "straggler_faster": r"^lucb, one run in 100 never stops .* ([\d.]+)x$",
}


def numbers() -> dict[str, str]:
    """Return the numbers by name."""
    pages = [BENCHMARKS / "RESULTS.md", *sorted((BENCHMARKS / "results").glob("*.md"))]
    results = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    found = {name: re.findall(place, results, re.MULTILINE) for name, place in PLACES.items()}
    for name, matches in found.items():
        if len(matches) != 1:
            raise SystemExit(f"{name} = {matches}, must be one number of benchmarks/: correct its place here")
    return {name: match for name, (match,) in found.items()}


def written(text: str) -> str:
    """Return the text with the numbers of today."""
    known = numbers()
    return re.sub(r"<!--(\w+)-->[^<]*<!---->", lambda span: f"<!--{span[1]}-->{known[span[1]]}<!---->", text)


if __name__ == "__main__":
    PAPER.write_text(written(PAPER.read_text(encoding="utf-8")), encoding="utf-8")
