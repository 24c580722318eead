"""What is published beside the package: workflows, the conda recipe, the paper, and what is left to a person."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from jaxbandit import __version__

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "docs" / "paper"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
yaml = pytest.importorskip("yaml")
sys.path += [str(ROOT), str(PAPER)]

import write_numbers  # noqa: E402


def read(path: str) -> dict:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_workflows_call_ci_run_and_name_actions_by_their_version():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in read(path)["jobs"].values():
            steps = job["steps"]
            assert all(re.fullmatch(r"[\w./-]+@(v\d+|release/v1)", step["uses"]) for step in steps if "uses" in step)
    build, publish = (read(".github/workflows/release.yml")["jobs"][name] for name in ("build", "publish"))
    assert "PYTHON=python bash .ci/run release" in [step.get("run") for step in build["steps"]]
    assert "permissions" not in build and publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi" and publish["if"] == "github.ref_type == 'tag'"
    assert publish["steps"][-1] == {"uses": "pypa/gh-action-pypi-publish@release/v1"}  # with attestations, its default


def test_templates_and_updates_have_what_the_host_asks_for():
    assert {"github-actions", "pip"} == {u["package-ecosystem"] for u in read(".github/dependabot.yml")["updates"]}
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = read(path)
        assert form["name"] and form["description"], path
        assert all(part["attributes"].get("label") or part["type"] == "markdown" for part in form["body"]), path


def test_the_conda_recipe_has_the_requirements_of_the_package():
    recipe = read("recipe/recipe.yaml")
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert recipe["context"] == {"version": __version__, "python_min": lowest}
    names = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]]
    needs = {re.sub(r"(?<=\w)(?=[>=<])", " ", name).replace("matplotlib ", "matplotlib-base ") for name in names}
    assert set(recipe["requirements"]["run"]) == needs | {"python >=${{ python_min }}"}
    assert recipe["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in PROJECT["scripts"].items()]
    assert recipe["about"]["summary"] == PROJECT["description"] and recipe["about"]["license"] == PROJECT["license"]


def test_numbers_of_the_paper_are_those_of_the_results():
    paper = write_numbers.PAPER.read_text(encoding="utf-8")
    assert set(re.findall(r"<!--(\w+)-->[\d.]+<!---->", paper)) == {*write_numbers.PLACES}
    assert write_numbers.written(paper) == paper, "run docs/paper/write_numbers.py"


def test_the_paper_cites_its_bibliography_and_has_the_sections_and_length_of_the_journal():
    paper, bibliography = ((PAPER / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    body = paper.split("---\n", 2)[2]
    keys = re.findall(r"^@\w+\{([\w-]+),$", bibliography, re.MULTILINE)
    assert len(keys) == len(set(keys)) and set(keys) == set(re.findall(r"\[-?@([\w-]+)\]", body))
    for entry in re.split(r"^(?=@)", bibliography, flags=re.MULTILINE)[1:]:
        assert all(f"  {field} = {{" in entry for field in ("author", "title", "year")), entry
    for section in ("Summary", "Statement of need", "State of the field", "Software design", "References"):
        assert f"\n# {section}\n" in body
    assert 750 <= len(body.split()) <= 1750
    [figure] = re.findall(r"^!\[.*\]\((.+)\)$", body, re.MULTILINE)
    assert (PAPER / figure).exists()


def test_what_a_person_has_to_do_fits_ten_lines_and_stands_in_one_file():
    steps = re.findall(r"^(\d+)\. ", (ROOT / "RELEASING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert steps == [str(i) for i in range(1, len(steps) + 1)] and 0 < len(steps) <= 10
    if "urls" not in PROJECT:  # nothing is filled in yet, and then nothing is invented
        for name in ("SECURITY.md", "CITATION.cff", "recipe/recipe.yaml", "pyproject.toml"):
            text = (ROOT / name).read_text(encoding="utf-8")
            assert not re.findall(r"\S+@\S+\.\w+|https?://(?!arxiv\.org)\S+|OWNER|TODO", text), name


def test_the_index_shows_the_readme_with_links_to_the_tag():
    hook = pytest.importorskip("hatchling.metadata.plugin.interface") and pytest.importorskip("hatch_build")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    there = hook.absolute(readme, "https://x.org/j/", "1.2")
    links = re.findall(r"\]\((?!#)([^)]+)\)", there)
    assert len(links) > 20 and all(link.startswith("https://") for link in links)
    assert "](https://x.org/j/raw/v1.2/docs/_static/regret-five-arms.png)" in there
    assert "](https://x.org/j/blob/v1.2/docs/promises.md#audits)" in there
    metadata = {"version": "1.2", "urls": {"Repository": "https://x.org/j"}}
    hook.CustomMetadataHook(str(ROOT), {}).update(metadata)
    assert metadata["readme"] == {"content-type": "text/markdown", "text": there}
    hook.CustomMetadataHook(str(ROOT), {}).update(metadata := {"version": "1.2"})
    assert metadata["readme"]["text"] == readme  # nothing is invented where no repository is named
