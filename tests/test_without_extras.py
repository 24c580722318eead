"""Only what `pip install .` brings: at a terminal, in Python and on the command line."""

import importlib
import os
import pty
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from jaxbandit.support.extras import EXTRAS, LAB

ROOT = Path(__file__).parents[1]
REMEDY = "the extra lab needs it: pip install xarray h5netcdf pandas matplotlib tqdm tyro tomli-w"

WITHOUT = f"""
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(LAB)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
"""


def at_a_terminal(code: str, directory: Path) -> list[str]:
    """Run code without the extras, all its streams a terminal; return the lines it wrote."""
    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", WITHOUT + textwrap.dedent(code)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    os.close(slave)
    said = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # Linux says so that the other side has closed
            break
        if not part:
            break
        said += part
    os.close(master)
    assert done.wait(timeout=60) == 0, said.decode()
    lines = said.decode().replace("\r\n", "\n").splitlines()
    return [line for line in lines if not line.endswith(" so far ...")]  # how long it compiles depends on the machine


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_python_without_extras(tmp_path):
    """Runs need none of them, and whatever does says in one line what to install."""
    lines = at_a_terminal(
        """
        import jaxbandit as jb

        assert sys.stderr.isatty()
        world = jb.environments.gaussian([0.0, 5.0])
        played = jb.algorithms.ucb1(2), jb.environments.bernoulli([0.1, 0.9])
        found = jb.simulate(*played, horizon=20, num_runs=3)
        stopped = jb.identify(jb.algorithms.lucb(2, sigma=1.0), world, num_runs=3)
        shown = jb.Execution(progress=True)
        found.save("saved")
        assert jb.load("saved")[0].runs == stopped.runs == 3
        for use in (
            lambda: found.plot(),
            lambda: found.to_dataframe(),
            lambda: stopped.to_dataframe(),
            lambda: found.to_xarray(),
            lambda: jb.load("saved").to_dataframe(),
            lambda: jb.simulate(*played, horizon=20, num_runs=3, execution=shown),
        ):
            try:
                use()
            except ModuleNotFoundError as error:
                print(error)
        """,
        tmp_path,
    )
    missing = ["matplotlib", "pandas", "pandas", "xarray", "pandas", "tqdm"]
    assert lines == [f"{name} is not installed; {REMEDY}" for name in missing]


@pytest.mark.slow
def test_the_command_line_without_extras(tmp_path):
    lines = at_a_terminal(
        """
        from jaxbandit.lab.cli import main

        listings = ["list"], ["list", "--json"], ["list", "--kind", "identify"]
        for argv in (["--version"], *listings, ["run"], ["--help"], ["nothing"]):
            print("status", main(argv))
        assert "jax" not in sys.modules
        """,
        tmp_path,
    )
    refusal = f"jaxbandit: tyro is not installed; {REMEDY}"
    assert lines[0].startswith("jaxbandit 0.") and lines[1] == "status 0"
    assert lines[-7:] == ["status 0", *[refusal, "status 2"] * 3]
    assert any("ucb1" in line.split() for line in lines) and '   "name": "ucb1",' in lines


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_is_what_the_project_declares(extra):
    file = ROOT / "pyproject.toml"
    declared = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"][extra]
    assert sorted(EXTRAS[extra].values()) == sorted(re.match(r"[\w-]+", package)[0] for package in declared)


@pytest.mark.parametrize("extra, package", [("sklearn", "scikit-learn"), ("optuna", "optuna")])
def test_an_adapter_without_its_library(extra, package, monkeypatch):
    for name in [extra, *(name for name in sys.modules if name.startswith(f"{extra}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"jaxbandit.decide.integrations.{extra}", raising=False)
    with pytest.raises(ModuleNotFoundError) as refusal:
        importlib.import_module(f"jaxbandit.decide.integrations.{extra}")
    assert str(refusal.value) == f"{extra} is not installed; the extra {extra} needs it: pip install {package}"


def test_another_missing_module_is_not_blamed_on_the_extra():
    from jaxbandit.support.extras import lab

    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such'"), lab():
        import no_such  # noqa: F401  # type: ignore
