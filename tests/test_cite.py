"""BibTeX of the papers behind algorithms and environments."""

import inspect
import re

import pytest

import jaxbandit as jb
from jaxbandit.base import docstrings
from jaxbandit.lab.papers import authors
from jaxbandit.lab.papers.cite import _ascii
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, WRAPPERS

KNOWN = {**ENVIRONMENTS, **WRAPPERS, **ALGORITHMS}
# Each type with the fields that the standard styles of BibTeX ask for.
REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "book": {"author", "title", "publisher", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "year", "eprint", "archiveprefix"},
}


def test_an_entry():
    assert jb.cite("imed", "bayes_ucb").split("\n\n") == [
        "@article{honda2015nonasymptotic,\n"
        "  author = {Honda, Junya and Takemura, Akimichi},\n"
        "  title = {Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards},\n"
        "  year = {2015},\n"
        "  journal = {Journal of Machine Learning Research},\n"
        "  volume = {16},\n"
        "}",
        "@inproceedings{kaufmann2012bayesian,\n"
        r"  author = {Kaufmann, Emilie and Capp{\'e}, Olivier and Garivier, Aur{\'e}lien},"
        "\n"
        "  title = {On {Bayesian} upper confidence bounds for bandit problems},\n"
        "  year = {2012},\n"
        "  booktitle = {International Conference on Artificial Intelligence and Statistics},\n"
        "}",
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("epsilon_first", r"Mu{\~n}oz de Cote, Enrique and Rogers"),
        ("lin_game", r"Gr{\"u}nwald, Peter D. and"),
        ("boltzmann_gumbel", r"Nicol{\`o} and"),
        ("discounted_thompson", "  eprint = {1707.09727},"),
        ("softmax", "@book{sutton2018reinforcement,"),
        ("softmax", "  publisher = {MIT Press},"),
        ("kl_ucb", "  title = {The {KL-UCB} algorithm for bounded stochastic bandits and beyond},"),
        ("giro", "  title = {Garbage in, reward out: bootstrapping exploration in multi-armed bandits},"),
        ("double_thompson", "  author = {Wu, Huasen and Liu, Xin},"),  # another Liu than that of UCBoost
    ],
)
def test_accents_capitals_commas_and_names_that_others_have_too(name, line):
    assert line in jb.cite(name)


def test_every_paper_that_a_docstring_names_has_an_entry_with_its_fields_and_a_key_of_its_own():
    by_key = {}
    for name, known in KNOWN.items():
        source = docstrings.sections(inspect.getdoc(known.factory()) or "").get("Source", "")
        years = re.findall(r"\((\d{4})\)", source)
        text = jb.cite(name)
        assert text.isascii()
        if not years:
            assert text == f"% {name}: {' '.join(source.split()) or 'its documentation names no paper'}"
            continue
        entries = text.split("\n\n")
        assert sorted(re.findall(r"year = {(\d+)}", text)) == sorted(years), name
        for entry in entries:
            kind, key = re.match(r"@(\w+){([a-z]+\d{4}[a-z0-9]+),\n", entry).groups()
            fields = dict(re.findall(r"^  (\w+) = {(.+)},$", entry, re.MULTILINE))
            assert REQUIRED[kind] <= set(fields), entry
            assert entry.count("{") == entry.count("}") and len(fields) == entry.count("\n") - 1
            assert by_key.setdefault(key, entry) == entry
            assert not re.search("; |, (Algorithm|Section|Figure|Theorem)", fields["title"])
    assert len(by_key) > 100


def test_every_author_is_of_some_paper():
    text = jb.cite(*KNOWN)
    assert [person for person in authors.BY_SURNAME.values() if _ascii(person) not in text] == []


def test_a_paper_of_several_names_stands_once():
    one, other, both = jb.cite("etc"), jb.cite("etc_gap"), jb.cite("etc", "uniform", "etc_gap")
    assert one == other and both.startswith(f"{one}\n\n% uniform: A standard baseline") and both.count("@") == 1


def test_without_a_name_the_library_itself():
    assert jb.cite() == (
        "@misc{jaxbandit,\n"
        "  author = {{The jaxbandit developers}},\n"
        "  title = {jaxbandit},\n"
        f"  note = {{Version {jb.__version__}}},\n"
        "}"
    )


def test_a_name_that_is_not_known():
    with pytest.raises(ValueError, match=r"cite: name 'kl-ucb', must be one that .* prints; did you mean 'kl_ucb'\?"):
        jb.cite("ucb1", "kl-ucb")
    with pytest.raises(ValueError, match=r"^cite: name \['kl_ucb'\], must be one that `jaxbandit list` prints$"):
        jb.cite(["kl_ucb"])
