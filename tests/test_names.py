"""A thing is named by a noun, an action by a verb, and nothing by a participle, an adverb or a pronoun.

Only names of one word are judged, without underscores around it: `drawn`, `Told`, `_checked`, `leaving.py`. What
English spells alike is listed in names.toml: nouns such as `seed` and `halving`, words that users write, and the
definitions that are still to be renamed. That list only gets shorter: `python -m tests.test_names` writes it anew.
"""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("names.toml")
ENDINGS = re.compile(r"[a-z]+(ed|ing|ly)")
# Participles of other forms, then adverbs, then pronouns.
WORDS = frozenset(
    """
    begun broken built chosen done drawn driven fed forgotten found frozen given gone grown heard held hidden kept
    known laid learnt left lost made meant met paid redrawn rewritten said seen sent shown sold spent stuck swept
    taken thrown told unbeaten undone unknown unseen unwritten withdrawn worn written
    again ahead alone already always anew apart aside away back else enough ever forward further hence here instead
    later maybe meanwhile never now often once perhaps quite rather still then there thus together too twice very
    yet
    all another any anybody anyone anything both each either everybody everyone everything few her him his it its me
    mine neither nobody nothing one others other ours own same several she some somebody something such their theirs
    them they this those us we what which who whoever whom whose you your
    """.split()
)


def words_of(source: str, module: str) -> list[str]:
    """Return the names of one word that a file defines: its own, its functions, classes and fields of classes."""
    names = [module]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        if isinstance(node, ast.ClassDef):
            fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
            names += [target.id for target in fields if isinstance(target, ast.Name)]
    words = [name.strip("_") for name in names]
    return [word.lower() for word in words if re.fullmatch(r"[A-Z]?[a-z]+", word)]


def offenders(fair: set[str]) -> dict[str, list[str]]:
    """Return the files of the package that define each word that is not fair, once for each definition."""
    found = defaultdict(list)
    for path in sorted((ROOT / "jaxbandit").rglob("*.py")):
        for word in words_of(path.read_text(encoding="utf-8"), path.stem):
            if is_offensive(word) and word not in fair:
                found[word].append(str(path.relative_to(ROOT)))
    return found


def is_offensive(word: str) -> bool:
    return word in WORDS or ENDINGS.fullmatch(word) is not None


def lists() -> tuple[set[str], dict[str, int]]:
    """Return the words that are fair, and how many definitions of each other word are still to be renamed."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {*table["nouns"], *table["public"]}, table["later"]


def test_nothing_new_is_named_by_a_participle_an_adverb_or_a_pronoun():
    fair, later = lists()
    more = {word: files for word, files in offenders(fair).items() if len(files) > later.get(word, 0)}
    assert not more, f"named by a participle, an adverb or a pronoun: {more}"


def test_the_lists_name_what_exists():
    fair, later = lists()
    renamed = later.keys() - offenders(fair).keys()
    assert not renamed, f"renamed, so delete from {FILE.name}: {sorted(renamed)}"
    unused = fair - offenders(set()).keys()
    assert not unused and not fair & later.keys(), f"not used, so delete from {FILE.name}: {sorted(unused)}"


def test_each_form_is_found():
    source = """
class Told:
    kept: int
    num_runs: int
    def _checked(self): ...
async def nearly():
    def each(): ...
def draw_each(): ...
def exp3(): ...
"""
    found = [word for word in words_of(source, "leaving") if is_offensive(word)]
    assert sorted(found) == ["checked", "each", "kept", "leaving", "nearly", "told"]


if __name__ == "__main__":
    kept = FILE.read_text(encoding="utf-8").partition("[later]\n")[0]
    rows = [f"{word} = {len(files)}\n" for word, files in sorted(offenders(lists()[0]).items())]
    FILE.write_text(f"{kept}[later]\n{''.join(rows)}", encoding="utf-8")
