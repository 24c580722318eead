"""Notebooks: kept with their figures, and every cell runs, on small sizes, with neither an error nor a warning."""

import re
import sys
from pathlib import Path

import pytest
from xla_options import QUICKLY, flags

import jaxbandit

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

sys.path.append(str(Path(__file__).resolve().parent.parent / "notebooks"))
import links  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parent.parent / "docs"))
import execute as stored  # noqa: E402

PACKAGE = Path(jaxbandit.__file__).resolve().parent
NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
EPILEPSY = Path(__file__).resolve().parents[2] / "shared" / "data" / "epilepsy"
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def execute(monkeypatch, tmp_path):
    """Return a function that runs a notebook's cells in a kernel of its own and returns what they wrote to stderr."""
    monkeypatch.setenv("JAXBANDIT_NOTEBOOK_QUICK", "1")
    monkeypatch.delenv("JAXBANDIT_EPILEPSY", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))  # the package under test, wherever the kernel starts
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    # A notebook plays more than a test.
    monkeypatch.setenv("XLA_FLAGS", flags(QUICKLY | {"xla_backend_optimization_level": 1}))

    def run(notebook):
        client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
        client.execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        said = "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stderr")
        return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("jaxbandit: compiling "))

    return run


def _notebook(*sources):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def test_all_notebooks_are_found():
    names = "bayesian_regret first_steps from_a_log_to_a_decision full_bandit how_many_visitors "
    names += (
        "lingape non_stationary oam on_a_gpu same_as_smpybandits several_players top_m tune_something_real ucboost "
    )
    names += "what_a_threshold_costs which_rule_stops_first your_own_algorithm"
    assert [path.stem for path in NOTEBOOKS] == names.split()


@every_notebook
def test_kept_with_its_figures_and_with_little_metadata(path):
    """`python docs/execute.py NAME` stores them."""
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}  # no version: it would change from author to author
    for cell in notebook.cells:
        assert not cell.metadata, cell.id
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr" and output.output_type != "error", cell.id
            assert set(output.get("data", {})) <= {*stored.KEPT}, cell.id
            assert "jaxbandit: " not in output.get("text", ""), cell.id
        assert cell.get("execution_count") is None, cell.id
    kinds = [kind for cell in notebook.cells for each in cell.get("outputs", []) for kind in each.get("data", {})]
    assert kinds.count("image/png") >= 1 and path.stat().st_size < 600_000
    identifiers = [cell.id for cell in notebook.cells]
    assert len(set(identifiers)) == len(identifiers)
    assert not [name for name in identifiers if re.fullmatch("[0-9a-f]{8}", name)]  # chosen, not drawn by an editor


@every_notebook
def test_it_imports_public_names_only(path):
    sources = "\n".join(cell.source for cell in nbformat.read(path, as_version=nbformat.NO_CONVERT).cells)
    assert set(re.findall(r"(?:from|import) jaxbandit\.([\w.]+)", sources)) <= {"algorithms", "environments"}


@every_notebook
def test_it_says_how_long_it_takes_installs_what_it_needs_and_says_what_to_change(path):
    """The link and the installation are those of the one place that knows where the source is hosted."""
    assert links.written(path) == path.read_text(encoding="utf-8")
    cells = nbformat.read(path, as_version=4).cells
    link = "" if links.repository() is None else r"\[Open in Colab\]\(https://colab\S+\) · "
    assert re.match(rf"# .+\n\n{link}[Aa]bout .+ on two cores\.?\n\n", cells[0].source)
    first = next(cell.source for cell in cells if cell.cell_type == "code")
    assert first.startswith('import importlib.util\n\nif importlib.util.find_spec("jaxbandit") is None:')
    assert any("**Try it:**" in cell.source for cell in cells if cell.cell_type == "markdown")
    assert "OWNER" not in path.read_text(encoding="utf-8")


def test_a_notebook_leads_to_the_repository_where_there_is_one(tmp_path, monkeypatch):
    path = tmp_path / "first_steps.ipynb"
    text = next(path for path in NOTEBOOKS if path.stem == "first_steps").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(links, "repository", lambda: "https://github.com/us/it")
    hosted = links.written(path)
    page = "https://colab.research.google.com/github/us/it/blob/main/notebooks/first_steps.ipynb"
    assert f"[Open in Colab]({page}) · about 10 seconds on two cores" in hosted
    assert "jaxbandit[lab] @ git+https://github.com/us/it" in hosted
    path.write_text(hosted, encoding="utf-8")
    assert links.written(path) == hosted
    monkeypatch.setattr(links, "repository", lambda: None)
    without = links.written(path)
    assert "colab" not in without.lower() and "git+" not in without and "About 10 seconds on two cores." in without
    path.write_text(text.replace("on two cores", "here"), encoding="utf-8")
    with pytest.raises(ValueError, match="0 times on two cores and 1 installations"):
        links.written(path)


@pytest.mark.slow
def test_every_cell_runs_and_a_figure_is_within_the_first_three(execute):
    """One notebook after the other in one kernel, whose names are deleted between them: it starts and imports once."""
    together, early = _notebook(), {}
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        early[path.stem] = cells[:3]
        together.cells += [*cells, *_notebook("%reset -f").cells]
    assert execute(together) == ""
    for name, cells in early.items():
        shown = [kind for cell in cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
        assert "image/png" in shown, name


@pytest.mark.slow
@pytest.mark.skipif(not EPILEPSY.exists(), reason="needs github.com/clreda/linear-top-m's data in ../shared/data")
def test_top_m_reads_the_real_drugs(execute, monkeypatch):
    monkeypatch.setenv("JAXBANDIT_EPILEPSY", str(EPILEPSY))
    (path,) = (path for path in NOTEBOOKS if path.stem == "top_m")
    notebook = nbformat.read(path, as_version=4)
    # The cells that read and draw the data, before those that play.
    notebook.cells = notebook.cells[: 1 + [cell.id for cell in notebook.cells].index("top-03")]
    notebook.cells.append(nbformat.v4.new_code_cell("print(drugs[:2], genes.shape, rewards.shape)"))
    assert execute(notebook) == ""
    assert notebook.cells[-1].outputs[0].text == "['Hydroxyzine', 'Acetazolamide'] (10, 71) (18, 10)\n"


@pytest.mark.slow
def test_an_error_in_a_cell_is_an_error_here(execute):
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="ZeroDivisionError"):
        execute(_notebook("import os; os.environ['JAXBANDIT_NOTEBOOK_QUICK']", "1 / 0"))


@pytest.mark.slow
def test_a_warning_in_a_cell_is_seen_and_the_package_is_the_one_under_test(execute):
    notebook = _notebook("import jaxbandit; jaxbandit.__file__", "import warnings; warnings.warn('look here')")
    assert "look here" in execute(notebook)
    assert str(PACKAGE) in notebook.cells[0].outputs[0].data["text/plain"]


@pytest.mark.slow
def test_a_refusal_is_one_line_of_the_cell_and_a_message_and_a_search_is_drawn_once(execute):
    refused = "import jaxbandit as jb\njb.simulate(jb.algorithms.ucb1(2), 3, horizon=10, num_runs=2)"
    search = "found = jb.tune(lambda seed, config: config['x'] + seed % 3, [{'x': 0.0}, {'x': 9.0}], budget=40)"
    notebook = _notebook(refused, f"{search}\nfound.plot()")
    notebook.cells[0].metadata["tags"] = ["raises-exception"]
    assert execute(notebook) == ""
    (error,) = notebook.cells[0].outputs
    place, code, message = "\n".join(error.traceback).strip().splitlines()
    assert (
        "line 2" in place and code.strip().startswith("jb.simulate(") and message.startswith("BadArgument: simulate: ")
    )
    kinds = [kind for output in notebook.cells[1].outputs for kind in output.get("data", {})]
    assert kinds.count("image/png") == 1
