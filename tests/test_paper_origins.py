"""Claims and numbers that nobody compared with their source get no verdict and are counted nowhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from results_by_hand import result

from jaxbandit.lab.papers import assessment, figure_experiments, origins
from jaxbandit.lab.papers.paper import papers
from jaxbandit.lab.papers.report import report
from jaxbandit.lab.papers.tables import computed
from jaxbandit.lab.report import reproductions
from jaxbandit.lab.report.page import html_of
from jaxbandit.lab.specs import source
from jaxbandit.running.results.base import ResultSet
from jaxbandit.support.refusals import BadInput

ROOT = Path(__file__).parents[1]
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
PAPERS = {
    name: data["paper"] for name, path in source.embedded_files().items() if "paper" in (data := source.read(path))
}

CLAIM = {"id": "1", "text": "it is small", "instance": "it", "algorithm": "kl", "relation": "below", "value": 20}
NUMBER = {"instance": "it", "algorithm": "kl", "quantity": "regret", "horizon": 100, "runs": 100, "wide": 0.5}
ABOUT = {"title": "a paper", "authors": [], "year": 2000, "url": "https://example.org", "confidence": 0.95}
MIXED = ABOUT | {
    "claim": [
        CLAIM | {"read": "Section 1"},
        CLAIM | {"id": "2", "text": "it is tiny", "unverified": "Section 2"},
        CLAIM | {"id": "3", "text": "it is minute", "ours": "stated here"},
    ],
    "published": [
        NUMBER | {"value": 10.1, "read": "Table 1"},
        NUMBER | {"value": 12.5, "unverified": "Table 2"},
        NUMBER | {"value": 10.2, "ours": "independent program"},
    ],
    "untested": [{"text": "it is optimal", "reason": "a theorem", "unverified": "Theorem 3"}],
}


@pytest.fixture
def content():
    rows = np.array([[1.0, 2.0, 10.0 + x] for x in np.linspace(-1, 1, 50)])
    figure = figure_experiments.Figure("a", "a figure", ["it"], ["kl"])
    return assessment.assess(ResultSet("demo", (result(rows),)), origins.settle(MIXED, "x.toml"), [figure])


def test_a_quotation_that_was_not_verified_has_no_verdict(content, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for entries in (content["claims"], content["published"]):
        assert [e.get("verdict") for e in entries] == ["agrees", None, "agrees"]
        assert [e["origin"] for e in entries] == ["read", "unverified", "ours"]
    quoted = content["claims"][1], content["published"][1]
    assert quoted[0]["checks"] == [] and not {"low", "high", "allowed", "confidence"} & quoted[1].keys()

    text = report(content)
    assert "1 agrees, 0 disagrees, 0 undecided; 1 quoted, not verified; of our own 1 agrees, 0 disagrees" in text
    [claim] = [line for line in text.splitlines() if "it is tiny" in line]
    [number] = [line for line in text.splitlines() if "Table 2" in line]
    assert "2      quoted, not verified" in claim
    assert "12.5" in number and "quoted, not verified" in number
    assert "it is optimal (quoted, not verified: Theorem 3): a theorem" in text.replace("\n" + " " * 13, " ")

    html = html_of(reproductions.page_of(tmp_path, json.loads(json.dumps(content)))).decode()
    rows = [re.sub(r"<[^>]+>", "|", row) for row in html.split("<tr>")]
    for phrase in ("it is tiny", "Table 2"):
        [row] = [row for row in rows if phrase in row]
        assert "quoted, not verified" in row and "agrees" not in row
    [row] = [row for row in rows if "it is small" in row]
    assert "agrees" in row and "quoted" not in row


def test_quotations_take_no_part_in_the_joint_confidence(content):
    verified = ABOUT | {k: [e for e in MIXED[k] if "unverified" not in e] for k in ("claim", "published")}
    rows = np.array([[1.0, 2.0, 10.0 + x] for x in np.linspace(-1, 1, 50)])
    alone = assessment.assess(ResultSet("demo", (result(rows),)), origins.settle(verified, "x.toml"), [])
    assert alone["published"][0]["confidence"] == content["published"][0]["confidence"]
    assert alone["claims"][0]["checks"] == content["claims"][0]["checks"]


def test_a_claim_about_a_table_that_was_not_verified_has_no_verdict():
    row = {"variant": "v", "rate": 0.9, "low": 0.8, "high": 1.0, "what": "it", "confidence": 0.95}
    claim = {"id": "1", "text": "", "table": "t", "variant": "v", "relation": "above", "value": 0.5}
    tables = [{"name": "t", "rows": [row]}]
    [read] = computed.judge([claim | {"source": "s", "origin": "read"}], tables)
    [quoted] = computed.judge([claim | {"source": "s", "origin": "unverified"}], tables)
    assert read["verdict"] == "agrees" and "verdict" not in quoted and quoted["checks"] == []


@pytest.mark.parametrize(
    ("paper", "message"),
    [
        ({"published": [{"value": 1}]}, "paper.published[0]: has no place, must have one of read, unverified, ours"),
        ({"claim": [{"id": "4.2", "source": "S"}]}, "x.toml: paper.claim[0] (4.2): has no place, must"),
        ({"claim": [{"id": "1", "read": "a", "ours": "b"}]}, "paper.claim[0] (1): has read and ours, must have one of"),
        ({"near": [{"id": "1", "read": "a"}]}, "paper.near[0] (1): has read, must have one of ours"),
        ({"complexity": {"t": {"unverified": "a"}}}, "paper.complexity.t: has unverified, must have one of read"),
    ],
)
def test_an_entry_says_where_it_comes_from(paper, message):
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        origins.settle(paper, "x.toml")
    assert "\n" not in str(error.value)


def test_an_entry_has_its_source_and_origin_and_a_computed_table_its_source():
    paper = {"published": [{"value": 1, "read": "Table 2"}], "complexity": {"t": {"read": "Table 3", "rows": []}}}
    settled = origins.settle(paper, "x.toml")
    assert settled["published"] == [{"value": 1, "source": "Table 2", "origin": "read"}]
    assert settled["complexity"] == {"t": {"source": "Table 3", "rows": []}} and "near" not in settled


def read_claims(paper):
    return [claim for kind in ("claim", "share") for claim in paper.get(kind, []) if "read" in claim]


@pytest.mark.parametrize("name", PAPERS)
def test_every_entry_of_every_paper_says_where_it_comes_from(name):
    origins.settle(PAPERS[name], name)


def test_pages_count_the_papers_whose_claims_were_compared():
    compared = {paper["title"] for paper in PAPERS.values() if read_claims(paper)}
    quoted = {paper["title"] for paper in PAPERS.values()} - compared
    number, rest = WORDS[len(compared)], WORDS[len(quoted)]
    assert f"{number.capitalize()} papers are [reproduced]" in (ROOT / "README.md").read_text()
    assert f"{number.capitalize()} papers" in (ROOT / "docs/index.md").read_text()
    assert sum("quoted, not verified" in about for about in papers().values()) == len(quoted)
    page = (ROOT / "docs/reproduce.md").read_text()
    assert f"experiments of {number} papers" in page and f"of {rest} more papers" in page
    for name, paper in PAPERS.items():
        lines = [line for line in page.splitlines() if line.startswith("|")]
        [row] = [line for line in lines if f"`{name}`" in line.replace("reproduce ", "")]
        assert ("quoted, not verified" in row) == (paper["title"] in quoted), row


def test_the_page_counts_the_claims_of_the_data():
    """In a row without readings, agree, disagree and undecided add up to the compared claims that need no data."""
    page = (ROOT / "docs/reproduce.md").read_text()
    for name in ("ucboost", "lingape", "topm", "non_stationary", "sda", "kl_ucb_plus_plus", "kl_ms"):
        [row] = [line for line in page.splitlines() if line.startswith(f"| `reproduce {name}`")]
        given = [instance["name"] for instance in PAPERS[name].get("instance", []) if "files" in instance]
        claims = [claim for claim in read_claims(PAPERS[name]) if claim.get("instance") not in given]
        assert sum(map(int, row.rstrip("| ").rpartition("| ")[2].split(", "))) == len(claims)
