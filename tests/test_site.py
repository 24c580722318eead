"""The documentation site: what its extensions make of the package, and the built pages in a real browser."""

import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

import jaxbandit
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, PROBLEM_DATA, WRAPPERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sphinx = pytest.importorskip("sphinx")
sys.path += [str(DOCS / "_ext"), str(DOCS)]

import algorithm_tables  # noqa: E402
import docstrings  # noqa: E402
import gallery  # noqa: E402
import linked_names  # noqa: E402
import measure  # noqa: E402
import pictures  # noqa: E402
import reference_pages  # noqa: E402
import repository_files  # noqa: E402

PAGES = "index start choose tune reproduce write_your_own cluster promises gallery cli benchmarks faq changelog clock "
PAGES += "reference/index reference/algorithms reference/generated/jaxbandit.Algorithm "
PAGES += "reference/generated/jaxbandit.algorithms.kl_ucb notebooks/lingape mathematics "
PAGES += "all_algorithms glossary "
PAGES += "arguments results/engine results/accelerators beside gpu contexts evaluate ab metrics settings recipes/index"
# What somebody may search for, and the guide that has to be found first.
SEARCHES = {
    "best arm identification": "choose",
    "off-policy evaluation": "evaluate",
    "contextual bandit": "contexts",
    "always-valid A/B test": "ab",
    "dueling bandits": "settings",
    "hyperparameter tuning": "tune",
    "thompson sampling": "choose",
}
LEGIBLE = 4.5  # contrast of text and what is behind it, the least that WCAG 2 (level AA) allows

# Text whose contrast with its background is too small: what is behind it is that of the nearest element that is opaque.
FAINT = """least => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number)
  const light = colour => parts(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0)
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor, [, , , opacity] = parts(colour)
      if (opacity === undefined || opacity === 1) return colour
    }
    return 'rgb(255, 255, 255)'
  }
  const found = []
  for (const e of document.querySelectorAll('article *, .sidebar-tree *, .toc-tree *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
    if (!own || !e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x)
    if ((a + .05) / (b + .05) < least) found.push(e.className + ' ' + e.textContent.trim().slice(0, 40))
  }
  return [...new Set(found)]
}"""

# Whether the page or its column of text scrolls sideways; code and tables scroll inside it.
WIDE = "['html', '.content'].map(s => document.querySelector(s)).some(e => e.scrollWidth > e.clientWidth)"


def test_a_docstring_becomes_restructuredtext():
    text = """Return `ucb1` of ||x|| and a* where `x` > 0.

Args:
  num_arms: number of arms,
    static.
  **look: of `plot`.

Returns:
  An Algorithm: its own.

Raises:
  ValueError: out of range.

Source: Auer (2002),
  JMLR."""
    converted = docstrings.converted(text.splitlines(), reference_pages.link)
    assert [line for line in converted if line] == [
        r"Return \ :py:obj:`~jaxbandit.algorithms.ucb1`\  of \|\|x\|\| and a\* where \ ``x``\  > 0.",
        ":param num_arms: number of arms, static.",
        r":param \*\*look: of \ :py:obj:`~jaxbandit.plot`\ .",
        ":returns: An Algorithm: its own.",
        ":raises ValueError: out of range.",
        "**Source.** Auer (2002),",
        "JMLR.",
    ]


@pytest.mark.parametrize(
    ("written", "home", "url", "shown"),
    [
        ("[a](cli.md#b)", "docs", "", "[a](cli.md#b)"),
        ("[a](docs/cli.md)", "", "", "[a](cli.md)"),
        ("[a](../CHANGELOG.md)", "docs", "", "[a](changelog.md)"),
        ("[a](../jaxbandit/base/contract.py)", "docs", "", "[a](../jaxbandit/base/contract.py)"),
        (
            "[a](../jaxbandit/base/contract.py#L3)",
            "docs",
            "https://x.org/j",
            "[a](https://x.org/j/blob/main/jaxbandit/base/contract.py#L3)",
        ),
        ("[a](../jaxbandit)", "docs", "https://x.org/j", "[a](https://x.org/j/tree/main/jaxbandit)"),
        ("[a](../jaxbandit)", "docs", "", "a"),
        ("[a](https://x.org)", "docs", "", "[a](https://x.org)"),
        ("```\n[a](../CHANGELOG.md)\n```", "docs", "", "```\n[a](../CHANGELOG.md)\n```"),
        ("[a](../nowhere.md)", "docs", "", "[a](../nowhere.md)"),
    ],
)
def test_links_of_the_markdown_hold_on_the_site(written, home, url, shown):
    assert repository_files.rewrite(written, ROOT / home, DOCS, url) == shown


def test_every_public_name_is_on_a_page_of_the_reference():
    listed = {name for headings in reference_pages.groups().values() for names in headings.values() for name in names}
    assert {path for path in listed if "." not in path} == {*jaxbandit.__all__} - {
        "__version__",
        *reference_pages.MODULES,
    }
    for package in (jaxbandit.algorithms, jaxbandit.environments):
        assert {f"{package.__name__}.{name}" for name in package.__all__} <= {f"jaxbandit.{path}" for path in listed}
    pages = reference_pages._files()  # a name under a heading that its page does not print would have none
    assert {path for path in reference_pages.homes() if f"generated/jaxbandit.{path}.rst" not in pages} == set()


def test_a_public_name_of_no_group_stops_the_build(monkeypatch):
    monkeypatch.setattr(reference_pages, "GROUPS", [group for group in reference_pages.GROUPS if group[0] != "tuning"])
    with pytest.raises(reference_pages.ExtensionError, match=r"of jaxbandit.decide.core.budget, belongs to 0 groups"):
        reference_pages.groups()


def test_every_algorithm_was_measured_on_the_instance_of_its_question():
    measured = tomllib.loads((DOCS / "measured.toml").read_text(encoding="utf-8"))
    assert set(measured) <= set(ALGORITHMS)
    for name, found in measured.items():
        assert (
            found["instance"] == measure.instance_of(name)
            and found["runs"] == measure.INSTANCES[found["instance"]].runs
        ), name
        assert found["low"] <= found["value"] <= found["high"], name
    text = algorithm_tables.tables(measured, {key: instance.about for key, instance in measure.INSTANCES.items()})
    for name in ALGORITHMS:
        assert text.count(f"| [`{name}`](reference/generated/jaxbandit.algorithms.{name}.rst) |") == 1
    assert "not measured" not in text and "not measured" in algorithm_tables.tables({}, {})


def test_every_registered_name_and_argument_is_in_a_table_of_the_reference():
    page = (DOCS / "arguments.md").read_text(encoding="utf-8")
    groups = re.findall(algorithm_tables.ARGUMENTS, page)
    assert groups == ["regret", "wrapper", "confidence", "budget", "environment"]
    tables = "".join(algorithm_tables.arguments(group) for group in groups)
    rows = re.findall(r"^\| \[`(\w+)`\]\([^|]*\|([^|]*)\|", tables, re.MULTILINE)
    expected = [
        (entry.name, [name for name in entry.arguments if name not in hidden])
        for group, hidden in (
            (ALGORITHMS, (*PROBLEM_DATA, "algorithm")),
            (WRAPPERS, (*PROBLEM_DATA, "algorithm")),
            (ENVIRONMENTS, ()),
        )
        for entry in group.values()
    ]
    assert sorted((name, re.findall(r"`(\w+)`", cell)) for name, cell in rows) == sorted(expected)


def test_every_notebook_has_a_card_and_a_small_thumbnail():
    cards = gallery.cards()
    thumbnails = list((DOCS / "_static" / "gallery").iterdir())
    assert {path.stem for path in thumbnails} == {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    for path in thumbnails:
        assert f":link: notebooks/{path.stem}\n" in cards and f":img-top: _static/gallery/{path.name}\n" in cards
    assert sum(path.stat().st_size for path in thumbnails) < 500_000


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once without executing notebooks; a warning is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-j", "2", "-d", f"{place}/doctrees", "docs"]
    done = subprocess.run([*command, f"{place}/html"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return place / "html"


class Page(HTMLParser):
    """What a page refers to, and what of it can be referred to."""

    def __init__(self, path: Path):
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.targets += [given[key] for key in ("href", "src") if given.get(key)]


@pytest.mark.slow
def test_internal_links_of_the_site_lead_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 200
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                continue
            file, _, anchor = target.partition("#")
            if "_modules" in path.parts and "/reference/" in target:
                continue  # source pages lead to names as their modules call them, of which only some have pages
            to = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not to.exists() or (anchor and to in pages and unquote(anchor) not in pages[to].anchors):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert not broken, broken[:20]


@pytest.mark.slow
def test_no_page_is_large(site):
    sizes = {path.relative_to(site).as_posix(): path.stat().st_size for path in site.rglob("*.html")}
    assert {name: size for name, size in sizes.items() if size > 250_000} == {}  # links of names add a tenth


def test_every_page_of_results_is_listed():
    assert {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.md")} == {*repository_files.RESULTS}
    assert len(repository_files.RESULTS) == len(set(repository_files.RESULTS))


@pytest.mark.slow
def test_the_site_has_an_llms_txt_and_a_page_for_each_name(site):
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# jaxbandit") and "choose" in text
    for name in reference_pages.homes():
        page = (site / f"reference/generated/jaxbandit.{name}.html").read_text(encoding="utf-8")
        assert f'id="jaxbandit.{name}"' in page, name


class Names(HTMLParser):
    """The names of the package in code style that are no links."""

    def __init__(self, path: Path):
        super().__init__()
        self.within: list[str] = []
        self.found: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        if tag in ("a", "code", "h1", "h2", "h3", "pre"):
            self.within.append(tag)
            self.text = ""

    def handle_endtag(self, tag):
        if tag in ("a", "code", "h1", "h2", "h3", "pre"):
            if tag == "code" and self.within == ["code"] and linked_names.path_of(self.text):
                self.found.append(self.text)
            self.within.remove(tag)

    def handle_data(self, data):
        self.text = f"{self.text}{data}" if self.within else ""


def test_the_picture_of_an_algorithm_has_a_dot_for_each_measured_on_its_instance():
    svg = pictures.picture("kl_ucb")
    same = [
        name for name, row in pictures.MEASURED.items() if row["instance"] == pictures.MEASURED["kl_ucb"]["instance"]
    ]
    assert svg.count("<title>") == len(same) > 20 and f"in gray the {len(same) - 1} others" in svg
    places = {name: float(x) for x, name in re.findall(r'cx="([\d.]+)"[^>]*><title>(\w+):', svg)}
    values = {name: pictures.MEASURED[name]["value"] for name in same}
    one, other = sorted(same, key=lambda name: values[name])[:: len(same) - 1]  # the least and the most regret
    assert places[one] == min(places.values()) < max(places.values()) == places[other]
    assert pictures.picture("no_such_algorithm") == ""


@pytest.mark.slow
def test_what_public_functions_return_has_a_page(site):
    about = (site / "reference/generated/jaxbandit.simulate.html").read_text(encoding="utf-8")
    assert "running.results.regret.RegretResult.html" in about
    for name, home in reference_pages.RETURNED.items():
        page = (site / f"reference/generated/jaxbandit.{home}.{name}.html").read_text(encoding="utf-8")
        assert f'id="jaxbandit.{home}.{name}"' in page, name


@pytest.mark.slow
def test_names_of_the_package_are_links(site):
    guides = [*site.glob("*.html"), *site.glob("recipes/*.html")]
    unlinked = {path.stem: found for path in guides if (found := Names(path).found)}
    assert len(guides) > 40 and unlinked == {}
    assert 'href="reference/generated/jaxbandit.algorithms.kl_ucb.html' in (site / "choose.html").read_text()


def test_words_that_are_also_names_are_links_where_they_are_meant():
    assert linked_names.path_of("run") is None and linked_names.path_of("kl_ucb=") is None
    assert linked_names.path_of("jb.run") == "run" and linked_names.path_of("run(spec)") == "run"
    assert linked_names.path_of("jb.algorithms.kl_ucb(9)") == linked_names.path_of("kl_ucb") == "algorithms.kl_ucb"


@pytest.mark.slow
@pytest.mark.browser
def test_a_search_finds_the_guide_first(site, browser):
    page = browser.new_page()
    for words, guide in SEARCHES.items():
        page.goto(f"{(site / 'search.html').as_uri()}?q={quote(words)}")
        first = page.wait_for_selector("#search-results li a")
        assert first.get_attribute("href").startswith(f"{guide}.html"), (words, first.get_attribute("href"))
    page.close()


@pytest.mark.slow
@pytest.mark.browser
def test_pages_in_a_browser(site, browser):
    """No error in the console, nothing from the network, no sideways scroll, legible in the dark, images described."""
    page = browser.new_page(color_scheme="dark")
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(f"asks for {r.url}"))
    for name in PAGES.split():
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto((site / f"{name}.html").as_uri())
        wrong += [
            f"no alt text: {url}"
            for url in page.eval_on_selector_all("img:not([alt]), img[alt='']", "all => all.map(i => i.src)")
        ]
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            wrong += [f"hardly legible, {scheme}: {text}" for text in page.evaluate(FAINT, LEGIBLE)]
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate(WIDE):
                wrong.append(f"scrolls sideways at {width} pixels")
        assert not wrong, f"{name}: {wrong[:10]}"
    page.close()
