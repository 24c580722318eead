"""What is built from the tree: a wheel with the package alone, and an sdist that passes its own tests."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from jaxbandit import __version__

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def build(tree: Path, target: str, place: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(place)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (built,) = place.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The directory that the sdist holds, away from the tree."""
    place = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(ROOT, "sdist", place)) as archive:
        archive.extractall(place / "unpacked", filter="data")
    (directory,) = (place / "unpacked").iterdir()
    return directory


def test_the_wheel_is_the_package_alone(wheel):
    found = contents(wheel)
    about = f"jaxbandit-{__version__}.dist-info"
    package = {name for name in found if not name.startswith(f"{about}/")}
    kept = {path for path in (ROOT / "jaxbandit").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert package == {path.relative_to(ROOT).as_posix() for path in kept}
    assert {Path(name).suffix for name in package} == {".py", ".pyi", ".csv", ".toml", ".typed", ".css", ".html", ".js"}
    assert not [name for name in package if "benchmarks" in name]
    assert b"jaxbandit = jaxbandit.lab.cli:process" in found[f"{about}/entry_points.txt"]
    needs = Parser().parsestr(found[f"{about}/METADATA"].decode()).get_all("Requires-Dist", [])
    bare = {need.partition(">")[0].replace("-", "_") for need in needs if "extra ==" not in need}
    assert bare == {"jax", "jaxlib", "numpy", "scipy", "lazy_loader", "filelock"}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only git knows which files are kept")
def test_the_sdist_holds_every_file_that_is_kept(unpacked):
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
    kept = {name for name in listed.splitlines() if (ROOT / name).exists()}
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert kept and kept <= held
    assert "PKG-INFO" in held and not [name for name in held if "__pycache__" in name]


def test_the_sdist_makes_the_same_wheel(wheel, unpacked, tmp_path):
    assert contents(build(unpacked, "wheel", tmp_path)) == contents(wheel)


def test_the_extra_docs_has_what_documented_modules_import():
    """The reference imports every module, and an environment for development has all extras."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (own,) = (re.fullmatch(r"jaxbandit\[(.+)\]", name) for name in extras["docs"] if name.startswith("jaxbandit["))
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "jaxbandit").rglob("*.py"))
    needed = {name for source in sources for name in re.findall(r'^with extra\("(\w+)"\)', source, re.MULTILINE)}
    assert {"sklearn", "optuna"} <= needed <= set(own[1].split(","))


def test_the_sdist_passes_its_own_tests(unpacked):
    """Those that read what lies beside the package: documents, notebooks, sources, benchmarks."""
    files = ["tests/test_release.py", "tests/test_notebooks.py::test_all_notebooks_are_found"]
    files += [f"tests/test_docs.py::test_{name}" for name in ("relative_links_lead_somewhere", "one_version")]
    files.append("tests/test_docs.py::test_contributing_shows_kl_ucb_as_it_is")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "not slow", "-p", "no:cacheprovider", *files],
        cwd=unpacked,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout
