"""BibTeX of the papers behind algorithms and environments, made from the section Source of their docstrings."""

import inspect
import re
import unicodedata

from jaxbandit.base import docstrings
from jaxbandit.base.calls import checked
from jaxbandit.lab.papers import authors
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, WRAPPERS
from jaxbandit.support.refusals import nearest, refuse
from jaxbandit.support.version import __version__

JOURNALS = {
    "ACM TOMACS": "ACM Transactions on Modeling and Computer Simulation",
    "Annals of Mathematical Statistics": "The Annals of Mathematical Statistics",
    "Annals of Statistics": "The Annals of Statistics",
    "Bernoulli": "Bernoulli",
    "Foundations and Trends in Machine Learning": "Foundations and Trends in Machine Learning",
    "IEEE Transactions on Information Theory": "IEEE Transactions on Information Theory",
    "JMLR": "Journal of Machine Learning Research",
    "JRSS B": "Journal of the Royal Statistical Society, Series B",
    "Journal of Computer and System Sciences": "Journal of Computer and System Sciences",
    "Journal of the ACM": "Journal of the ACM",
    "Machine Learning": "Machine Learning",
    "Mathematics of Operations Research": "Mathematics of Operations Research",
    "Neural Computation": "Neural Computation",
    "Operations Research": "Operations Research",
    "SIAM J. Comput.": "SIAM Journal on Computing",
    "Theoretical Computer Science": "Theoretical Computer Science",
}
CONFERENCES = {
    "AAAI": "AAAI Conference on Artificial Intelligence",
    "ACL": "Annual Meeting of the Association for Computational Linguistics",
    "AISTATS": "International Conference on Artificial Intelligence and Statistics",
    "ALT": "International Conference on Algorithmic Learning Theory",
    "CIKM": "ACM International Conference on Information and Knowledge Management",
    "COLT": "Conference on Learning Theory",
    "ECML PKDD": "European Conference on Machine Learning and Knowledge Discovery in Databases",
    "ICLR": "International Conference on Learning Representations",
    "ICML": "International Conference on Machine Learning",
    "IJCAI": "International Joint Conference on Artificial Intelligence",
    "NeurIPS": "Advances in Neural Information Processing Systems",
    "NeurIPS Datasets and Benchmarks": "Neural Information Processing Systems, Track on Datasets and Benchmarks",
    "WWW": "International Conference on World Wide Web",
}
PUBLISHERS = ("Cambridge University Press", "MIT Press")
VENUES = sorted((re.escape(name) for name in [*JOURNALS, *CONFERENCES, *PUBLISHERS]), key=len, reverse=True)
AUTHOR = rf"(?:{'|'.join(authors.SURNAMES)})"
PAPER = re.compile(
    rf"\b(?P<authors>(?:{AUTHOR}, )*(?:{AUTHOR} and )?{AUTHOR}) \((?P<year>\d{{4}})\), (?P<title>[^;]+?), "
    rf"(?:(?P<venue>{'|'.join(VENUES)})(?: (?P<volume>\d+))?|arXiv:(?P<arxiv>[\d.]+\d))(?!\w)"
)
ACCENTS = {"\u0301": "'", "\u0300": "`", "\u0308": '"', "\u0303": "~", "\u030c": "v"}  # combining character -> command
LITTLE = ("a", "an", "on", "the")  # words at the beginning of a title that a key leaves out


@checked
def cite(*names: str) -> str:
    """Return BibTeX entries of the papers that algorithms and environments come from, each paper once.

    The entries hold authors, title, year and venue, with the volume of a journal, and no pages. They are ASCII, accents
    as LaTeX commands, and capitals that BibTeX has to keep are in braces. A key is the first author, the year and the
    first word of the title, such as `garivier2011klucb`.

    Args:
      *names: names of algorithms, wrappers or environments, such as "kl_ucb"; without one, the entry is that of
        jaxbandit itself.

    Returns:
      The entries, to be printed or written into a file. A name without a paper gives a comment that says so.

    Raises:
      ValueError: no algorithm, wrapper or environment has that name.
    """
    if not names:
        lines = ["author = {{The jaxbandit developers}}", "title = {jaxbandit}", f"note = {{Version {__version__}}}"]
        return _entry("misc", "jaxbandit", lines)
    known = {**ENVIRONMENTS, **WRAPPERS, **ALGORITHMS}
    found: dict[str, None] = {}  # entries, in order
    for name in names:
        if not isinstance(name, str) or name not in known:
            refuse(f"cite: name {name!r}", f", must be one that `jaxbandit list` prints{nearest(name, known)}")
        text = docstrings.sections(inspect.getdoc(known[name].factory()) or "").get("Source", "")
        text = " ".join(text.split())
        papers = list(map(_of, PAPER.finditer(text)))
        found |= dict.fromkeys(papers or [f"% {name}: {text or 'its documentation names no paper'}"])
    return "\n\n".join(found)


def _of(paper: re.Match[str]) -> str:
    people = authors.people(re.findall(AUTHOR, paper["authors"]))
    title, year, venue = paper["title"], paper["year"], paper["venue"]
    lines = [f"author = {{{' and '.join(people)}}}", f"title = {{{_capitals(title)}}}", f"year = {{{year}}}"]
    if venue in JOURNALS:
        kind, lines = "article", [*lines, f"journal = {{{JOURNALS[venue]}}}"]
    elif venue in CONFERENCES:
        kind, lines = "inproceedings", [*lines, f"booktitle = {{{CONFERENCES[venue]}}}"]
    elif venue:
        kind, lines = "book", [*lines, f"publisher = {{{venue}}}"]
    else:
        kind, lines = "misc", [*lines, f"eprint = {{{paper['arxiv']}}}", "archiveprefix = {arXiv}"]
    if paper["volume"]:
        lines.append(f"volume = {{{paper['volume']}}}")
    first = next(word for word in title.split() if word.lower() not in LITTLE)
    key = re.sub("[^a-z0-9]", "", authors.plain(f"{people[0].partition(',')[0]}{year}{first}").lower())
    return _entry(kind, key, lines)


def _entry(kind: str, key: str, lines: list[str]) -> str:
    return _ascii(f"@{kind}{{{key},\n" + "".join(f"  {line},\n" for line in lines) + "}")


def _capitals(title: str) -> str:
    """Return a title with braces around words whose capitals a bibliography style would take for a beginning."""
    words = title.split(" ")
    return " ".join(f"{{{w}}}" if re.search("[A-Z]", w[1:] if i == 0 else w) else w for i, w in enumerate(words))


def _ascii(text: str) -> str:
    return re.sub("(.)([\u0300-\u036f])", lambda m: f"{{\\{ACCENTS[m[2]]}{m[1]}}}", unicodedata.normalize("NFD", text))
