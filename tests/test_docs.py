"""The documents say what the code does: README's code runs and prints what stands below it, and no name is left out."""

import contextlib
import inspect
import io
import json
import re
import sys
from pathlib import Path

import pytest
from small_experiment import TWO, UCB1, written

import jaxbandit
from jaxbandit.lab import cli
from jaxbandit.lab.cli import endings
from jaxbandit.lab.cli.commands import COMMANDS
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.lab.specs.spec import KEYS

ROOT = Path(__file__).parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md", "benchmarks/RESULTS.md"]
DOCUMENTS += sorted(f"benchmarks/results/{path.name}" for path in (ROOT / "benchmarks" / "results").glob("*.md"))
DOCUMENTS += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
RECIPES = sorted(path.stem for path in (ROOT / "docs" / "recipes").glob("*.md") if path.stem != "index")
DOCUMENTS += [f"docs/recipes/{name}.md" for name in ("index", *RECIPES)]
TINY = written("simulate", TWO, UCB1, runs=2, horizon=20)
# Results of 1,000 runs on another platform or version of JAX differ, by less than their intervals.
NUMBERS_AGREE = 0.1
PLAYS = pytest.mark.quickly_compiled(level=1)  # for seconds, which takes longer than compiling


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def fenced(document: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a document, in order: (language, content)."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text_of(document), re.MULTILINE | re.DOTALL)


def same_words_and_numbers(got: str, shown: str) -> None:
    number = r"-?\d+(?:\.\d*)?"
    assert re.sub(number, "#", " ".join(got.split())) == re.sub(number, "#", " ".join(shown.split()))
    ours, theirs = ([float(x) for x in re.findall(number, text)] for text in (got, shown))
    assert ours == pytest.approx(theirs, rel=NUMBERS_AGREE)


def prints_what_it_shows(document: str) -> None:
    """Run a document's Python blocks, one after the other, and compare with the text below each."""
    blocks, names = fenced(document), {}
    for (language, code), (after, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, document, "exec"), names)
            same_words_and_numbers(printed.getvalue(), shown if after == "text" else "")


def test_readme_is_short_and_says_early_how_to_install():
    text = text_of("README.md")
    assert len(text.split()) <= 1000
    assert len(text.partition("pip install")[0].split()) <= 150


def test_guides_are_short():
    """Those of developers and the proofs excepted."""
    words = {document: len(text_of(document).split()) for document in DOCUMENTS if document.startswith("docs/")}
    exempt = ["docs/design.md", "docs/mathematics.md"]
    assert [document for document, number in words.items() if number > 2500 and document not in exempt] == []


def test_code_fits_the_column_of_a_page():
    """Excerpts of the source excepted, whose lines are those of their files."""
    pages = [document for document in DOCUMENTS if document.startswith("docs/") or document == "README.md"]
    code = [
        (page, line) for page in pages for what, text in fenced(page) if what == "python" for line in text.splitlines()
    ]
    assert len(code) > 1000 and [(page, line) for page, line in code if len(line) > 88] == []


@pytest.mark.slow
@PLAYS
def test_readme_code_prints_what_it_shows(tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    assert sum(language == "python" for language, _ in fenced("README.md")) >= 3
    prints_what_it_shows("README.md")
    assert (tmp_path / "regret.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_the_page_of_sessions_does_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prints_what_it_shows("docs/sessions.md")
    [spec] = [code for language, code in fenced("docs/sessions.md") if language == "toml"]
    Path("sweep.toml").write_text(spec, encoding="utf-8")
    Path("configs.csv").write_text("lr\n0.1\n0.01\n0.001\n0.0001\n", encoding="utf-8")
    Path("scores.json").write_text('{"1": 0.9, "3": 0.88}', encoding="utf-8")
    commands = [line.partition("#")[0].split()[1:] for line in fenced("docs/sessions.md")[-1][1].splitlines()]
    assert len(commands) == 8
    for command in commands:
        assert cli.main(command) == 0, command


def page(name: str, *marks: pytest.MarkDecorator) -> object:
    return pytest.param(f"docs/{name}.md", id=name, marks=marks)


EXECUTED = [
    page("start", PLAYS),
    page("choose", pytest.mark.quickly_compiled),
    page("write_your_own", pytest.mark.quickly_compiled),
    page("tune", pytest.mark.quickly_compiled),
    page("certificates"),
    page("stored_scores"),
    page("clock", pytest.mark.quickly_compiled),
    page("settings", PLAYS),
    page("instances", pytest.mark.quickly_compiled),
    page("contexts", pytest.mark.quickly_compiled),
    page("metrics", pytest.mark.quickly_compiled),
    page("ab"),
    page("evaluate"),
    page("integrations"),
    page("halving"),
    page("gpu", pytest.mark.quickly_compiled),
    *(page(f"recipes/{name}", pytest.mark.quickly_compiled) for name in RECIPES),
]


@pytest.mark.slow
@pytest.mark.parametrize("document", EXECUTED)
def test_code_of_a_page_prints_what_it_shows(document, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    assert any(language == "python" for language, _ in fenced(document))
    with plt.rc_context():  # the settings that a page makes are its own
        prints_what_it_shows(document)


def test_each_guide_has_a_figure_of_its_present_code():
    """`python docs/figures.py NAME` draws those of a page; the digest of the code stands in the file."""
    sys.path.append(str(ROOT / "docs"))
    import figures

    pages = {document: ROOT / document for document in [*(each.values[0] for each in EXECUTED), "docs/sessions.md"]}
    found = {document: figures.figures(page) for document, page in pages.items()}
    assert [document for document in found if not found[document] and "recipes" not in document] == []
    shown = [(document, *figure) for document, some in found.items() for figure in some]
    assert [name for _, name, text in shown if len(text) < 40] == []  # characters of the text that stands for it
    drawn = {name: figures.stored(name) for _, name, _ in shown}
    assert [
        name for document, name, _ in shown if drawn[name] != figures.digest(figures.code(pages[document], name))
    ] == []
    assert {path.name for path in figures.PLACE.iterdir()} == set(drawn)


TYPES = """
import typing
world = jb.environments.bernoulli([0.1, 0.9])
typing.assert_type(jb.simulate(jb.algorithms.ucb1(2), world, horizon=9, num_runs=2).regret.low, float)
typing.assert_type(jb.identify(jb.algorithms.lucb(2), world, num_runs=2).interval().value, float)
"""


@pytest.mark.slow
def test_a_type_checker_finds_nothing_in_readme_code(tmp_path):
    """As one file; README's code is what users write after, so the types of public names must take it."""
    pyright = pytest.importorskip("pyright.cli")
    code = tmp_path / "readme.py"
    blocks = [text for language, text in fenced("README.md") if language == "python"]
    code.write_text("\n".join([*blocks, TYPES]), encoding="utf-8")
    command = ["--pythonpath", sys.executable, str(code)]
    done = pyright.run(*command, cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.slow
@PLAYS
def test_the_main_job_prints_the_table_of_the_readme(tmp_path, monkeypatch, capsys):
    """Up to the tenth that is left to other platforms; half of its runs have a standard error of 2 %."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "--runs", "250"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith(("instance", "five-arms "))]
    [shown] = [code for language, code in fenced("README.md") if language == "text" and "lower bound" in code]
    shown_rows = [line for line in shown.splitlines() if line.startswith(("instance", "five-arms "))]
    assert len(rows) == 7  # the heading and six policies
    same_words_and_numbers("\n".join(rows), "\n".join(shown_rows))
    figure = lines[-1]
    assert figure in text_of("README.md") and (tmp_path / figure).stat().st_size > 10_000


def test_contributing_shows_kl_ucb_as_it_is():
    source = text_of("jaxbandit/algorithms/regret/kl_ucb.py")
    for language, code in fenced("CONTRIBUTING.md"):
        if language == "python":
            assert code.strip() in source


@pytest.mark.parametrize("document", DOCUMENTS)
def test_relative_links_lead_somewhere(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text_of(document)):
        assert (ROOT / document).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if "```sh" in text_of(d)])
def test_commands_shown_are_commands(document):
    shown = {line for language, code in fenced(document) if language == "sh" for line in code.splitlines()}
    commands = {match[1] for line in shown if (match := re.search(r"(?:^|/)jaxbandit (\w+)", line))}
    assert commands <= set(COMMANDS)
    assert commands or "jaxbandit " not in "".join(shown)


def test_every_algorithm_is_in_the_changelog():
    for name in (*ALGORITHMS, *ENVIRONMENTS):
        assert f"`{name}`" in text_of("CHANGELOG.md"), name


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_every_command_and_key_is_documented(tmp_path, monkeypatch, capsys):
    text = "".join(text_of(f"docs/{page}.md") for page in ("cli", "toml", "outputs"))
    for name in COMMANDS:
        assert f"jaxbandit {name}" in text, name
    for status in (endings.DONE, endings.BUG, endings.BAD_INPUT, endings.INTERRUPTED):
        assert f"| {status} |" in text, status
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY, encoding="utf-8")
    assert cli.main(["run", "tiny.toml", "--json"]) == 0

    def keys(tree):
        for key, value in tree.items() if isinstance(tree, dict) else ():
            yield key
            if key != "params":
                yield from keys(value[0] if isinstance(value, list) else value)

    written = [*keys(json.loads(capsys.readouterr().out)), *KEYS, *(p.name for p in Path("tiny-result").iterdir())]
    assert len(written) > 35
    for name in written:
        assert f"`{re.sub('[0-9]{3}', 'NNN', name)}`" in text, name


@pytest.mark.parametrize("package", [jaxbandit, jaxbandit.algorithms, jaxbandit.environments])
def test_every_public_name_has_a_docstring(package):
    for name in {*package.__all__} - {"__version__"}:
        document = inspect.getdoc(getattr(package, name))
        assert document and not document.startswith(f"{name}("), name  # Python's own for a tuple or a dataclass


def test_one_version():
    assert re.search(r"^version: (.*)$", text_of("CITATION.cff"), re.MULTILINE)[1] == jaxbandit.__version__
    assert f"{jaxbandit.__version__}" in text_of("CHANGELOG.md")


def test_ci_runs_the_readme_test_command():
    [command] = [line for _, code in fenced("README.md") for line in code.splitlines() if "/bin/pytest" in line]
    install, _, arguments = command.partition(".venv/bin/pytest")
    ci = text_of(".ci/run")
    assert re.search(r"pip install '([^']*)'", install)[1] in ci
    assert arguments == ""  # all tests
    assert re.search(r'^  in_venv "\$main" pytest$', ci, re.MULTILINE)


def test_hosted_ci_runs_jobs_of_ci_run():
    """Each job of the workflow is one of .ci/run, each of which is a job of the workflow."""
    ci, workflow = text_of(".ci/run"), text_of(".github/workflows/ci.yml")
    [jobs] = re.findall(r"^    (\w+(?: \| \w+)+)\) ;;$", ci, re.MULTILINE)
    jobs = set(jobs.split(" | "))
    assert jobs == set(re.findall(r"^(\w+)\(\) \{", ci, re.MULTILINE)) & jobs
    assert jobs == {*re.findall(r"job: (\w+)", workflow), *re.findall(r"\.ci/run (\w+)", workflow)}
    assert jobs <= set(re.findall(r"^#   \.ci/run (\w+)", ci, re.MULTILINE))
