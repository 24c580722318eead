"""Write in every notebook the link that opens it in Colab, and the line that installs what it needs.

`python notebooks/links.py` writes them; `--check` exits with status 1 if one is not as it should be. Both lead to the
`Repository` of `[project.urls]` in pyproject.toml. Without that address there is no link, and the notebook installs the
clone that it stands in.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIME = re.compile(r"^(?:\[Open in Colab\]\([^)]*\) · )?[Aa](bout .+ on two cores)\.?$", re.MULTILINE)
EXTRAS = dict.fromkeys(("from_a_log_to_a_decision", "tune_something_real"), "lab,sklearn")  # of the package; else "lab"
ALSO = {  # packages of other projects
    "same_as_smpybandits": " SMPyBandits",
    "tune_something_real": " optax",
    "which_rule_stops_first": " ipywidgets",
}


def repository() -> str | None:
    """Return where the source is hosted, or None if that is not decided."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project.get("urls", {}).get("Repository", "").rstrip("/") or None


def written(path: Path) -> str:
    """Return a notebook's text with link and installation as they should be.

    Raises:
      ValueError: its first cell does not say how long it takes, or its first cell of code does not begin with the
        installation.
    """
    book, home, name = json.loads(path.read_text(encoding="utf-8")), repository(), path.stem
    extras, line = EXTRAS.get(name, "lab"), r"A\1."
    if home is not None:
        page = f"{home.removeprefix('https://github.com/')}/blob/main/notebooks/{path.name}"
        line = rf"[Open in Colab](https://colab.research.google.com/github/{page}) · a\1"
    package = f"..[{extras}]" if home is None else f"jaxbandit[{extras}] @ git+{home}"
    title, code = book["cells"][0], next(cell for cell in book["cells"] if cell["cell_type"] == "code")
    title["source"], times = _replaced(TIME, line, title["source"])
    install = f'%pip install --quiet "{package}"{ALSO.get(name, "")}'
    code["source"], installs = _replaced(re.compile("%pip install .*"), install, code["source"])
    if (times, installs) != (1, 1):
        raise ValueError(f"{path.name}: {times} times on two cores and {installs} installations, must have one of each")
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _replaced(pattern: re.Pattern[str], text: str, lines: list[str]) -> tuple[list[str], int]:
    found = [pattern.subn(text, line) for line in lines]
    return [line for line, _ in found], sum(count for _, count in found)


def main(check: bool) -> int:
    """Write the notebooks, or say which are not as they should be; return the exit status."""
    stale = [path for path in sorted(HERE.glob("*.ipynb")) if written(path) != path.read_text(encoding="utf-8")]
    for path in stale:
        if check:
            print(f"{path.name}: run python notebooks/links.py")
        else:
            path.write_text(written(path), encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
