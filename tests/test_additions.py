"""What a stranger adds takes a change in at most two files: a rule, an argument, a column, a command, an event.

Each case is an example: the texts are put into a copy of the package, where it then works, with all that is generated:
the listings, the reference, tables, JSON and help.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
IMPORTS = """
import contextlib, io, json, sys
from pathlib import Path
import jaxbandit as jb
from jaxbandit.lab.cli import main

assert Path(jb.__file__).is_relative_to(Path.cwd())
sys.path += ["docs/_ext", "docs"]

def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        assert main(words) == 0
    return out.getvalue()

def pages():
    import reference_pages
    return {name for headings in reference_pages.groups().values() for names in headings.values() for name in names}
"""


class Addition(NamedTuple):
    """What is changed in which files, and code that shows that it works."""

    files: Mapping[str, str | list[tuple[str, str]]]  # the text of a new file, or (what stands there, what replaces it)
    code: str


RULE = Addition(
    {
        "jaxbandit/algorithms/regret/one_error.py": '''
            """An index policy whose bonus is one standard error of rewards in [0, 1]."""

            from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
            from jaxbandit.base.arguments import NumArms
            from jaxbandit.base.contract import Algorithm, Rewards
            from jaxbandit.base.declaration import declare
            from jaxbandit.support.types import Array


            @declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)")
            def one_error(num_arms: NumArms) -> Algorithm:
                """The mean and one standard error, a rule without a guarantee.

                Return the policy that pulls the arm with the largest mean + 1 / (2 sqrt(s)) after s pulls of it.

                Guarantee: None.

                Source:
                  An example.
                """

                def index(state: IndexState) -> Array:
                    return state.means + state.inverse_sqrt_counts / 2

                return index_policy("one_error", num_arms, index, rewards=Rewards(0.0, 1.0))
            ''',
        "jaxbandit/algorithms/__init__.pyi": [
            ("from .regret.oam import", "from .regret.one_error import one_error as one_error\nfrom .regret.oam import")
        ],
    },
    """
    result = jb.simulate(jb.algorithms.one_error(2), jb.environments.bernoulli([0.1, 0.9]), horizon=100, num_runs=8)
    assert 0 < result.regret.value < 40 and "one_error" in jb.algorithms.__all__
    assert "The mean and one standard error" in printed("list", "one_error") and "O(K)" in printed("show", "one_error")
    assert "algorithms.one_error" in pages()
    import algorithm_tables
    assert "one_error" in algorithm_tables.tables({}, {})
    """,
)

ARGUMENT = Addition(
    {
        "jaxbandit/algorithms/regret/moss.py": [
            ("import math\n", "import math\nfrom typing import Annotated\n"),
            ("import Algorithm, Rewards\n", "import Algorithm, Rewards\nfrom jaxbandit.base.parameters import Arg\n"),
            (
                "from jaxbandit.support.numerics import as_float\nfrom jaxbandit.support.types import Array\n",
                "from jaxbandit.support.domains import number\nfrom jaxbandit.support.numerics import as_float\n"
                "from jaxbandit.support.types import Array, Scalar\n",
            ),
            (
                "\nANYTIME_ALPHA",
                '\nScale = Annotated[Scalar, Arg(number(0), "factor of the bonus", (0.5, 2.0))]\nANYTIME_ALPHA',
            ),
            ("horizon: Horizon | None = None)", "horizon: Horizon | None = None, scale: Scale = 1.0)"),
            ("return state.means + jnp.sqrt(", "return state.means + as_float(scale) * jnp.sqrt("),
        ]
    },
    """
    import jax
    try:
        jb.algorithms.moss(3, scale=-1)
    except ValueError as error:
        assert str(error) == "moss: scale = -1, must be a number in [0, inf)", error
    assert "factor of the bonus" in jb.algorithms.moss.__doc__
    arguments = json.loads(printed("show", "moss", "--json"))["entries"][0]["arguments"]
    assert any(argument["name"] == "scale" for argument in arguments), arguments
    import algorithm_tables
    [row] = [line for line in algorithm_tables.arguments("regret").splitlines() if "[`moss`]" in line]
    assert "`scale` t = 1.0" in row
    Path("e.toml").write_text('''
    kind = "simulate"
    runs = 4
    horizon = 50
    instance = [{type = "bernoulli", means = [0.1, 0.9]}]
    algorithm = [{type = "moss", scale = {sweep = [0.0, 1.0]}}]
    ''')
    cells = json.loads(printed("run", "e.toml", "--out", "out", "--json"))["cells"]
    assert [cell["params"]["scale"] for cell in cells] == [0.0, 1.0] and len({str(c["regret"]) for c in cells}) == 2
    """,
)

COLUMN = Addition(
    {
        "jaxbandit/running/results/stopping.py": [
            (
                '            content["samples"] = samples\n',
                '            samples |= {"times_bound": times.mean() / bound} if bound else {}\n'
                '            content["samples"] = samples\n',
            )
        ],
        "jaxbandit/running/results/report.py": [
            (
                '            *_metric_cells(content, metrics),\n            ("delta"',
                '            ("times bound", f"{samples[\'times_bound\']:.1f}" if "times_bound" in samples else ""),\n'
                '            *_metric_cells(content, metrics),\n            ("delta"',
            ),
        ],
    },
    """
    result = jb.identify(jb.algorithms.lucb(2, sigma=0.5), jb.environments.bernoulli([0.1, 0.9]), num_runs=8)
    shown = result.to_json()["samples"]
    ratio = shown["times_bound"]
    assert abs(ratio * shown["lower_bound"] - shown["mean"]) < 1e-9 * shown["mean"]
    from jaxbandit.support.document import as_text
    assert "times bound" in as_text(result.describe()) and f"{ratio:.1f}" in result._repr_html_()
    """,
)

MEASUREMENT = Addition(
    {
        "jaxbandit/engine/rounds/stopping.py": [
            (
                "        judge: Any = self.make(arguments)[1].simple_regret\n        if not self.judges:",
                '        if "pulls" in result:\n'
                '            result["least"] = jnp.min(result["pulls"])\n'
                "        judge: Any = self.make(arguments)[1].simple_regret\n        if not self.judges:",
            )
        ],
        "jaxbandit/engine/driver/records.py": [
            (
                "    batches: Runs = None",
                "    least: Runs = None  # int32[runs], pulls of the arm that was pulled least\n"
                "    batches: Runs = None",
            )
        ],
    },
    """
    result = jb.identify(jb.algorithms.lucb(3, sigma=0.5), jb.environments.bernoulli([0.1, 0.5, 0.9]), num_runs=8)
    least = result.arrays["pulls"].min(axis=1).tolist()
    assert len(set(least)) > 1 and result.to_dataframe()["least"].tolist() == least
    assert result.to_xarray()["least"].dims == ("run",)
    jb.save(result, "out")
    [stored] = jb.load("out")
    assert stored.to_dataframe()["least"].tolist() == least
    """,
)

COMMAND = Addition(
    {
        "jaxbandit/lab/cli/count_command.py": '''
            """The command `count`."""

            from dataclasses import dataclass
            from typing import Literal

            from jaxbandit.lab.cli import streams
            from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS


            @dataclass(frozen=True)
            class Count:
                """Print how many algorithms or environments there are."""

                what: Literal["algorithms", "environments"] = "algorithms"
                """What is counted."""
                json: bool = False
                """Print one JSON document."""

                def __call__(self) -> int:
                    """Print the number."""
                    number = len(ALGORITHMS if self.what == "algorithms" else ENVIRONMENTS)
                    return streams.reply(self.json, lambda: {self.what: number}, lambda: f"{number} {self.what}")
            ''',
        "jaxbandit/lab/cli/commands.py": [
            (
                "from jaxbandit.lab.cli.distribution_options",
                "from jaxbandit.lab.cli.count_command import Count\nfrom jaxbandit.lab.cli.distribution_options",
            ),
            ('"new": New}', '"new": New, "count": Count}'),
        ],
    },
    """
    from jaxbandit.lab.specs.registry import ENVIRONMENTS
    assert printed("count", "--what", "environments") == f"{len(ENVIRONMENTS)} environments\\n"
    assert json.loads(printed("count", "--json"))["algorithms"] > 50
    assert "Print how many" in printed("--help") and "What is counted" in printed("count", "--help")
    assert "count" in printed("completion", "bash")
    """,
)

EVENT = Addition(
    {
        "jaxbandit/decide/sessions/changes.py": [
            (
                "@change\ndef open_arms(",
                '''@change
def keep_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which all arms but these are closed."""
    kept = check_ids(arms, "arm")
    require_arms(kept, session.num_arms)
    closed = ~np.isin(np.arange(session.num_arms), kept)
    return session.but(closed=closed).with_event(Event("keep_arms", arms=kept))


@change
def open_arms(''',
            ),
            ("    close_arms, open_arms = ", "    keep_arms = _method(keep_arms)\n    close_arms, open_arms = "),
        ],
        "jaxbandit/__init__.pyi": [
            (
                "from .decide.sessions.changes import open_arms",
                "from .decide.sessions.changes import keep_arms as keep_arms\n"
                "from .decide.sessions.changes import open_arms",
            )
        ],
    },
    """
    rule = jb.algorithms.thompson(3)
    with jb.session_directory("live", rule) as store:
        store.keep_arms([2])
        assert {int(store.ask().arm[0]) for _ in range(9)} == {2}
        now = store.session
    assert Path("live/log.jsonl").read_text().startswith('{"keep_arms": [2], "sum": ')
    with jb.session_directory("live", rule) as store:
        assert store.session.closed.tolist() == [True, True, False]
    jb.save_session("file", jb.keep_arms(now, [1]))
    assert jb.load_session("file", rule).closed.tolist() == [True, False, True]
    printed("report", "live")
    assert "keep_arms" in Path("live/report.html").read_text() and "keep_arms" in pages()
    """,
)
ADDITIONS = {
    "rule": RULE,
    "argument": ARGUMENT,
    "column": COLUMN,
    "measurement": MEASUREMENT,
    "command": COMMAND,
    "event": EVENT,
}


@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_takes_at_most_two_files(what, tmp_path):
    addition = ADDITIONS[what]
    assert len(addition.files) <= 2
    shutil.copytree(ROOT / "jaxbandit", tmp_path / "jaxbandit")
    shutil.copytree(ROOT / "docs" / "_ext", tmp_path / "docs" / "_ext")
    for name in ("measure.py", "measured.toml"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    for name, change in addition.files.items():
        path = tmp_path / name
        if isinstance(change, str):
            assert not path.exists()
            path.write_text(textwrap.dedent(change).lstrip(), encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        for before, after in change:
            assert text.count(before) == 1, f"{name}: {before!r} is there {text.count(before)} times"
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", IMPORTS + textwrap.dedent(addition.code)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}  # the pages use benchmarks/
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
