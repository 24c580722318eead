"""`jaxbandit ab`: what it prints, its JSON, its page in a file and in a browser, and exit statuses."""

import json
import re
from typing import Any, cast

import numpy as np
import pytest
from test_report import read

import jaxbandit as jb
from jaxbandit.lab import cli
from jaxbandit.support.document import Section, blocks_as_text

pytestmark = pytest.mark.slow

pytest.importorskip("matplotlib")

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture
def log(tmp_path):
    rng = np.random.default_rng(1)
    rows = ["variant,converted,t"]
    for i in range(3000):
        variant = "ABC"[rng.integers(2 if i < 1000 else 3)]
        rows.append(f"{variant},{int(rng.random() < {'A': 0.1, 'B': 0.2, 'C': 0.15}[variant])},{i}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_command_prints_what_python_returns(log, capsys):
    arguments = ["--control", "A", "--outcome", "converted", "--time", "t", "--window", "200", "--epsilon", "0.005"]
    assert cli.main(["ab", str(log), *arguments]) == 0
    result = jb.ab(log, control="A", columns={"outcome": "converted", "time": "t"}, window=200, goal=0.005)
    printed = capsys.readouterr().out
    assert printed.startswith(result.words) and "C came later" in " ".join(printed.split())
    assert cli.main(["ab", str(log), *arguments, "--json", "--now", "3100", "--delta", "0.1", "--minimize"]) == 0
    found = json.loads(capsys.readouterr().out)
    columns, goal = {"outcome": "converted", "time": "t"}, jb.Goal(delta=0.1, epsilon=0.005, maximize=False)
    other = jb.ab(log, control="A", columns=columns, window=200, now=3100, goal=goal)
    assert found == json.loads(json.dumps(other.to_json())) and found["schema"] == 1
    b = found["variants"][1]
    assert b["name"] == "B" and b["visitors"] > b["pairs"] > 0 and {"low", "high", "difference_low"} <= b.keys()


def test_stages_removal_and_ranges(log, capsys):
    def found(*arguments):
        assert cli.main(["ab", str(log), "--control", "A", "--outcome", "converted", "--json", *arguments]) == 0
        return {v["name"]: v for v in json.loads(capsys.readouterr().out)["variants"]}

    assert [v["stage"] for v in found().values()] == [0, 0, 1]
    assert [v["stage"] for v in found("--none-late").values()] == [0, 0, 0]
    assert [v["stage"] for v in found("--late", "B", "--late", "C").values()] == [0, 1, 2]
    assert found("--removed", "B")["B"]["removed"] and found("--growth")["C"]["stage"] == 1
    assert found("--range", "0", "50")["B"]["difference_high"] > found()["B"]["difference_high"]


def test_options_of_outcomes_units_counts_and_shares(log, capsys):
    """Each is the argument of the same name; the column t, of which every value is there once, stands for units."""
    for arguments, options in (
        (["--outcome", "t", "--cap", "900"], {"columns": {"outcome": "t"}, "cap": 900}),
        (["--outcome", "converted", "--outcome", "t", "--cap", "t=900", "--guardrails", "t=-0.5",
          "--segment", "variant"],
         {"columns": {"outcome": ["converted", "t"], "segment": ["variant"]}, "cap": {"t": 900},
          "guardrails": {"t": -0.5}}),
        (["--outcome", "converted", "--denominator", "t", "--covariate", "converted=converted"],
         {"columns": {"outcome": "converted", "denominator": "t", "covariate": {"converted": "converted"}}}),
        (["--outcome", "converted", "--plan", "0.3"], {"columns": {"outcome": "converted"}, "plan": 0.3}),
        (["--outcome", "t", "--quantile", "0.25"], {"columns": {"outcome": "t"}, "goal": jb.Goal(quantile=0.25)}),
        (["--outcome", "converted", "--unit", "t", "--of-unit", "any"],
         {"columns": {"outcome": "converted", "unit": "t"}, "of_unit": "any"}),
        (["--outcome", "converted", "--planned", "A=2", "--planned", "B=1", "--planned", "C=1"],
         {"columns": {"outcome": "converted"}, "planned": {"A": 2, "B": 1, "C": 1}}),
        (["--visitors", "t", "--conversions", "converted", "--adaptive"],
         {"columns": {"visitors": "t", "conversions": "converted"}, "planned": "adaptive"}),
    ):  # fmt: skip
        if "visitors" in options["columns"]:  # the first row has no visitor
            text = log.read_text().splitlines()
            log.write_text("\n".join([text[0], *text[2:40]]) + "\n")
        assert cli.main(["ab", str(log), "--control", "A", "--json", *arguments]) == 0
        result = jb.ab(log, control="A", **cast(dict[str, Any], options))
        assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(result.to_json()))


def test_bad_input_is_one_line_and_status_2(log, tmp_path, capsys):
    for arguments, message in (
        (["--control", "Z", "--outcome", "converted"], 'control = "Z", must be one of'),
        (["--control", "A"], "has no column 'outcome'"),
        (["--control", "A", "--outcome", "converted", "--late", "B", "--none-late"], "says the opposite of --late"),
        (["--control", "A", "--outcome", "converted", "--adaptive", "--planned", "A=1"], "the opposite of --planned"),
        (["--control", "A", "--outcome", "converted", "--planned", "A"], '--planned = "A", must be a variant'),
        (["--control", "A", "--outcome", "converted", "--planned", "A=-1"], "must be a variant and its share"),
        (["--control", "A", "--outcome", "converted", "--guardrails", "t"], '--guardrails = "t", must be a column and'),
        (["--control", "A", "--outcome", "converted", "--cap", "x"], '--cap = "x", must be a number, or an outcome'),
        (["--control", "A", "--outcome", "t", "--cap", "1", "--cap", "t=2"], "--cap is given several times; name"),
        (["--control", "A", "--outcome", "t", "--of-unit", "mean"], "of_unit = 'mean', must be one of sum, any, last"),
        (["--control", "A", "--outcome", "converted", "--html", str(log)], "is not a report, so it is not replaced"),
        (["--control", "A", "--outcome", "converted", "--html", str(tmp_path)], "is a directory"),
    ):
        assert cli.main(["ab", str(log), *arguments]) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1
    assert log.read_text().startswith("variant")


def test_the_page_says_what_is_decided(log, tmp_path, capsys):
    page = tmp_path / "ab.html"
    arguments = ["ab", str(log), "--control", "A", "--outcome", "converted", "--html", str(page)]
    assert cli.main(arguments) == 0 and cli.main(arguments) == 0  # a report is replaced
    result = jb.ab(log, control="A", columns={"outcome": "converted"})
    found, text = read(page), page.read_text()
    assert result.words in text and "Show next: " in text and f"<h1>A/B test: {log.name}</h1>" in text
    table = found.table("Visitors, and what is known")
    assert [row[0] for row in table[1:]] == ["A", "B", "C"] and [row[7] == "control" for row in table[1:]] == [1, 0, 0]
    assert table[1][1] == f"{result.variants[0].visitors:,}"
    assert table[0][8] == "95 % interval" and table[0][9] == "lift" and table[2][11] == f"{result.variants[1].pairs:,}"
    rates, chart = found.data
    assert [curve["x"] for curve in rates["curves"]] == [[1, 2], [0]]  # the control has a color of its own
    curve = chart["curves"][0]
    assert curve["label"] == "B" and curve["x"][-1] == result.variants[1].pairs
    assert curve["low"][-1] == pytest.approx(100 * result.variants[1].difference_low, rel=1e-4)
    assert curve["y"][-1] == pytest.approx(100 * result.variants[1].difference, rel=1e-4)


def test_the_page_says_why_and_what_was_checked():
    """A broken guardrail, a split that is not as planned, and rows without an order are said where a reader looks."""
    rng = np.random.default_rng(3)
    n = 9000
    variant = rng.choice(["A", "B"], size=n)
    bought = rng.random(n) < np.where(variant == "B", 0.4, 0.3)
    log = {"variant": variant, "bought": bought, "revenue": np.where(bought, np.where(variant == "B", 1.0, 9.0), 0)}

    def page(log, **options):
        result = jb.ab(log, control="A", columns={"outcome": "bought"}, guardrails={"revenue": -0.1}, **options)
        parts = [block for block in result.describe(detail=True).blocks if isinstance(block, Section)]
        blocks = {part.heading: blocks_as_text(part.blocks) for part in parts}
        return result, {heading: " ".join(text.split()) for heading, text in blocks.items()}

    result, found = page(log)
    assert found["Decision"].startswith(result.words) and result.decision == "keep"
    assert "B does not keep a guardrail (revenue at most 10 % lower)" in found["Why"] and "a lift of +" in found["Why"]
    assert "B is worse" not in found["Why"] and "do not change over time" in found["What could not be checked"]
    assert f"as planned: yes (p = {result.split_p:.2g})" in found["What was checked"]
    assert "order of arrival: yes" in found["What was checked"] and "an assumption: no." in found["What was checked"]
    result, found = page({name: column[np.argsort(variant, kind="stable")] for name, column in log.items()})
    assert "order of arrival: no" in found["What was checked"]
    result, found = page(log, planned={"A": 2, "B": 1})
    assert "as planned: no (p" in found["What was checked"] and "assumption: yes" in found["What was checked"]
    assert "not tested" in page(log, planned="adaptive")[1]["What was checked"]


def test_a_control_of_that_name_is_not_called_the_control_control():
    rng = np.random.default_rng(3)
    variant = rng.choice(["Control", "B"], size=4000)
    bought = rng.random(4000) < np.where(variant == "B", 0.4, 0.3)
    result = jb.ab({"variant": variant, "outcome": bought}, control="Control")
    worse = jb.ab({"variant": variant, "outcome": ~bought}, control="Control")
    text = " ".join(f"{block}" for found in (result, worse) for block in found.describe(detail=True).blocks)
    assert "ontrol control" not in text.lower() and "The control is Control" not in text
    assert "Difference from the control'" in text and "The control is worse than another variant." in text
    assert worse.words.startswith("Keep the control: Control is the best variant")
    named = jb.ab({"variant": np.where(variant == "B", "B", "old"), "outcome": bought}, control="old")
    text = " ".join(f"{block}" for block in named.describe(detail=True).blocks)
    assert "The control is old." in text and "Difference from the control old" in text


def test_names_are_text_on_the_page_and_escaped_on_a_terminal(tmp_path, capsys):
    names = ["A", HOSTILE, "\x1b[31mred"]
    rows = "".join(f'"{name}",{i % 2}\n' for i in range(60) for name in names)
    log = tmp_path / "log.csv"
    log.write_text("variant,outcome\n" + rows)
    page = tmp_path / "page.html"
    assert cli.main(["ab", str(log), "--control", "A", "--html", str(page)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    found = read(page)
    assert len(found.scripts) == 2 and found.table("Visitors")[2][0] in (HOSTILE, "\ufffd[31mred")


@pytest.mark.parametrize("kind", ["normal", "range", "few"])
def test_pages_of_other_outcomes(kind, tmp_path):
    from jaxbandit.lab.report.page import html_of

    rng = np.random.default_rng(2)
    n = 4 if kind == "few" else 300
    log = {"variant": ["A", "B"] * n, "outcome": rng.beta(2, 3, 2 * n)}
    result = jb.ab(log, control="A", goal=jb.Goal(score_range=(0, 1) if kind == "range" else None))
    text = html_of(result.describe(detail=True)).decode()
    assert result.words in text and "points" not in text.partition("<main>")[2].partition("How to read")[0]
    main = text.partition("<main>")[2].partition("</main>")[0]
    assert "What could not be checked" in main and not re.search(r"\b(nan|inf)\b", main)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_in_a_browser(browser, log, tmp_path, width, scheme):
    page = tmp_path / "ab.html"
    arguments = ["ab", str(log), "--control", "A", "--outcome", "converted", "--html", str(page)]
    assert cli.main(arguments) == 0
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    try:
        tab, problems = context.new_page(), []
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        tab.goto(page.as_uri())
        tab.wait_for_selector(".plot canvas")
        assert tab.locator(".plot canvas").count() == 2
        assert tab.evaluate("document.documentElement.scrollWidth") <= width  # tables scroll inside their containers
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        assert dark == (scheme == "dark") and not problems
    finally:
        context.close()
