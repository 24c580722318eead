"""Everything that reads a file of a user: what is no file, or not what it should be, is refused in one line.

One reader of each format (`support.reading`, `csv_rows`, `decimals`) is used everywhere: see the last test.
"""

import ast
import csv
import math
import os
import random
import signal
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.environments.contextual.rows import rows
from jaxbandit.environments.recorded.crowd_answers import crowd_answers
from jaxbandit.environments.recorded.r6a import read_click_log
from jaxbandit.lab import cli
from jaxbandit.lab.cli.session_changes import _scores_of_file
from jaxbandit.lab.experiments import directory
from jaxbandit.lab.papers import own_instances
from jaxbandit.lab.report import write
from jaxbandit.lab.specs import session, session_context, source
from jaxbandit.lab.specs.arguments import read_csv
from jaxbandit.support import csv_rows, decimals, reading
from jaxbandit.support.refusals import BadInput

PACKAGE = Path(jb.__file__).parent


def crowd(path):
    (path.parent / "truth.csv").write_text("task,truth\n1,a\n", encoding="utf-8")
    if path.name != "answer.csv":
        os.symlink(path, path.parent / "answer.csv")
    crowd_answers(path.parent, k=1)


TABLES = {  # a reader, and a table that it reads
    "ab": (lambda path: jb.ab(path, control="A"), "variant,outcome,note\nA,1,x\nB,0,y\nA,1,x\nB,1,y\n"),
    "read_log": (lambda path: jb.read_log(path), "action,reward,note\n0,1,x\n1,0,y\n1,1,z\n"),
    "rows": (lambda path: rows(path, rewards=("u", "v")), "u,v,note\n1,0,x\n0,1,y\n"),
    "an array": (lambda path: read_csv("spec.toml: means", path), "0.5,0.25,1\n0.1,0.2,0.3\n0.1,0.2,0.3\n"),
    "configs": (lambda path: session._rows("configs", path), "lr,batch,note\n0.1,8,x\n0.2,8,y\n0.2,16,y\n"),
    "contexts": (lambda path: session_context.read_contexts(path, jb.algorithms.ucb1(3)), "a,b,c\n1,2,3\n4,5,6\n"),
    "crowd": (crowd, "task,w1,w2\n1,a,b\n1,a,b\n"),
    "a paper": (lambda path: own_instances.read_columns("--data", path, ["b"]), "a,b,c\n1,2,3\n4,5,6\n"),
}
OTHERS = {"toml": (source.read, "a = 1\nb = 2\n"), "rewards": (_scores_of_file, '{"0": 1, "1": 0}')}
# Binary files, and files that are only looked at; those cannot be pipes either.
BINARY = {
    "npz": lambda path: rows(path.rename(path.with_suffix(".npz")), rewards="u"),
    "clicks": read_click_log,
    "digest": directory._digest,
    "report": lambda path: write._replaceable(path),
}
READERS = {name: reader for name, (reader, _) in {**TABLES, **OTHERS}.items()} | BINARY


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing waits, reads without end or takes memory without limit: the test fails after some seconds."""

    def fail(*_):
        raise TimeoutError("it did not end")

    monkeypatch.setattr(reading, "PIPE_SECONDS", 0.05)
    monkeypatch.setattr(reading, "LARGEST", 2**16)
    monkeypatch.setattr(reading, "LARGEST_TABLE", 2**16)
    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refused(reader, path, said, named=None):
    with pytest.raises(ValueError) as error:
        reader(path)
    text = str(error.value)
    assert said in text and (named or path.name) in text and "\n" not in text and len(text) < 700, text


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_this_page_are_read(name, tmp_path):
    reader, text = TABLES[name]
    (tmp_path / "answer.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    reader(tmp_path / "answer.csv")


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_into_which_nobody_writes_is_not_waited_for(name, tmp_path):
    os.mkfifo(path := tmp_path / "the-pipe")
    refused(READERS[name], path, "is a pipe", "answer.csv" if name == "crowd" else "the-pipe")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
@pytest.mark.parametrize("name", READERS)
def test_a_device_is_refused_at_once(name, device, tmp_path):
    os.symlink(device, path := tmp_path / "device")
    refused(READERS[name], path, "is a device", "answer.csv" if name == "crowd" else "device")


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_what_is_larger_than_the_limit_or_not_text_is_refused(name, tmp_path):
    path, reader = tmp_path / "answer.csv", READERS[name]
    path.write_bytes(b"")
    os.truncate(path, 2**40)  # a file with a hole, of which nothing may be read
    refused(reader, path, "MiB")
    path.write_bytes(b"a,b,c\n\xe9,1,2\n")
    refused(reader, path, "is not text in UTF-8 (byte 0xe9 at position 6)")
    path.write_text(TABLES["ab"][1], encoding="utf-16")
    refused(reader, path, "is not text in UTF-8")
    path.unlink()
    refused(reader, path, "cannot be read (No such file or directory)")
    path.mkdir()
    refused(reader, path, "cannot be read (Is a directory)")


# Each takes the lines of a table of three columns, the last of which may hold any text, and returns a bad table with
# the number of the line that must be named and what is said of it.
DAMAGE = {
    "a quote that is never closed": lambda a, b, c: ([a, b + "1", cut(c, '"5 inch')], 3, "quote"),
    "two of them": lambda a, b, c: ([a, cut(b, '"5 inch'), cut(c, '"6 inch')], 2, "quote"),
    "a quote that closes in another row": lambda a, b, c: ([a, cut(b, '"5 inch'), c, first(c, '6"')], 2, "quote"),
    "a quote in a cell": lambda a, b, c: ([a, b, cut(c, '5" nail')], 3, "a quote is in the middle of a cell"),
    "text after a quoted cell": lambda a, b, c: ([a, cut(b, '"5 inch" nail'), c], 2, "quote"),
    "a short row": lambda a, b, c: ([a, b, c.rpartition(",")[0]], 3, "has 2 cells, must have 3"),
    "a long row": lambda a, b, c: ([a, b + ",1", c], 2, "has 4 cells, must have 3"),
    "a null character": lambda a, b, c: ([a, b, cut(c, "\0")], 3, "has a null character"),
    "a cell of a megabyte": lambda a, b, c: ([a, b, cut(c, "1" * 2**18)], 3, "field larger than field limit"),
}


def cut(line, cell):
    """The line with another last cell."""
    return f"{line.rpartition(',')[0]},{cell}"


def first(line, cell):
    return f"{cell},{line.partition(',')[2]}"


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_damaged_is_refused_with_its_line(name, damage, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_TABLE", 2**20)
    reader, text = TABLES[name]
    path = tmp_path / "answer.csv"
    lines, number, said = DAMAGE[damage](*text.splitlines()[:3])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused(reader, path, said)
    refused(reader, path, f"line {number}: ")


@pytest.mark.parametrize("name", ["ab", "read_log", "rows", "configs", "a paper"])
def test_two_columns_of_one_name_are_refused_wherever_names_are_used(name, tmp_path):
    head, *body = TABLES[name][1].splitlines()
    path = tmp_path / "twice.csv"
    path.write_text("\n".join([",".join([*head.split(","), head.split(",")[2]]), *(row + ",1" for row in body)]))
    refused(READERS[name], path, "must be names that are all different" if name == "configs" else "twice, its columns")


def test_a_stray_quote_in_a_column_that_nobody_uses_no_longer_ends_the_log(tmp_path):
    """3,000 rows, of which 100 were read in silence."""
    lines = [f"{'AB'[i % 2]},{i % 3 // 2},shoe" for i in range(3000)]
    lines[99] = 'A,1,"5 inch'
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["variant,outcome,product", *lines]) + "\n")
    refused(READERS["ab"], path, "line 101: ")


def test_quotes_where_they_may_be_and_lines_in_a_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x ""y"", z",1\n"two\nlines",2\n"",\n\n"q","r"\n')
    found = list(csv_rows.read("t", path, "a table"))
    assert found == [(1, ["a", "b"]), (2, ['x "y", z', "1"]), (3, ["two\nlines", "2"]), (5, ["", ""]), (7, ["q", "r"])]
    path.write_bytes(b"a;b\r1;2,5\r\r3;4")  # old line ends, a comma in a number, and no end of the last line
    assert list(csv_rows.read("t", path, "a table")) == [(1, ["a", "b"]), (2, ["1", "2,5"]), (4, ["3", "4"])]


def test_what_is_written_by_a_strict_writer_is_read_again(tmp_path):
    """500 random tables of hostile cells, each quoted as the module csv of Python does it."""
    draw, path = random.Random(1), tmp_path / "t.csv"
    for _ in range(500):
        width = draw.randint(2, 4)
        table = [["".join(draw.choices('ab",;\t \n', k=draw.randint(0, 5))) for _ in range(width)] for _ in range(5)]
        table[0] = [f"n{i}" for i in range(width)]
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
        try:
            assert [row for _, row in csv_rows.read("t", path, "a table")] == table
        except BadInput as error:  # each line of such a row could be a row
            assert "a quote is never closed" in str(error)
            assert any("\n" in cell for row in table for cell in row)


# Nothing nearer to 0 than 2.2e-308, which a processor may be set to take for 0, as other libraries of a process do.
NUMBERS = {
    "0": 0.0, "-0.50": -0.5, "+1e3": 1000.0, ".5": 0.5, "5.": 5.0, "1E-3": 0.001, "0e-999": 0.0, "2.3e-308": 2.3e-308,
    "00012": 12.0, "179769313486231570000e288": 1.7976931348623157e308,
}  # fmt: skip
ODD_TEXTS = ["", "1_0", "٣", "1,5", "0x1p3", "1e", "--1", "1 2", " 1", "nan", "inf", "-Infinity", "one", "e5"]


def test_numbers_are_decimal_and_in_ascii_digits():
    for text, value in NUMBERS.items():
        assert decimals.number(text) == value and not decimals.is_ambiguous(text), text
    for text in ODD_TEXTS:
        assert decimals.number(text) is None, text
    assert [text for text in ODD_TEXTS if decimals.is_ambiguous(text)] == ["1_0", "٣", " 1", "nan", "inf", "-Infinity"]
    for text in ("1e-400", "-0.0000001e-330", "1e400", "9" * 400):
        assert math.isnan(decimals.number(text)) and decimals.is_ambiguous(text), text
    assert decimals.integer("-12") == -12 and decimals.integer("1_0") is decimals.integer("٣") is None


ODD = ["1_0", "٣", "1e-400", "1e400", "inf"]


@pytest.mark.parametrize("number", ODD)
@pytest.mark.parametrize("name", [name for name in TABLES if name != "crowd"])  # whose answers are texts
def test_a_cell_that_only_python_takes_for_a_number_is_refused(name, number, tmp_path):
    lines = TABLES[name][1].splitlines()
    at = {"ab": 1, "read_log": 1}.get(name, 0)
    cells = lines[2].split(",")
    lines[2] = ",".join([*cells[:at], number, *cells[at + 1 :]])
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused(READERS[name], path, "line 3")


@pytest.mark.parametrize("number", ODD)
def test_the_time_of_a_row_is_such_a_number_too(number, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"variant,outcome,t\nA,1,1\nB,1,{number}\n", encoding="utf-8")
    refused(lambda path: jb.ab(path, control="A", columns={"time": "t"}), path, "line 3: t = ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"0": 1, "0": 0}', 'key "0" is given twice'),
        ('{"0": 1, "1": 1e-400}', 'number "1e-400" is too large or too close to 0'),
        ('{"0": 1e400}', 'number "1e400" is too large or too close to 0'),
        ('{"0": Infinity}', "Infinity is not a number"),
        ('{"1_0": 1}', 'id = "1_0"'),
        ('{"٣": 1}', 'id = "٣"'),
        ('{"0": "1_0"}', 'reward = "1_0"'),
        ('{"0": "٣"}', 'reward = "٣"'),
        ('{"0": "inf"}', 'reward = "inf"'),
        ('{"0": "1e-400"}', 'reward = "1e-400"'),
        ('{"0": [1]}', "reward = [1]"),
        ('[{"id": 0, "id": 1, "reward": 1}]', 'key "id" is given twice'),
        ("[" * 10**4, "nested too deep"),
        ("{", "not valid JSON"),
    ],
)
def test_rewards_in_json_are_unambiguous(text, said, tmp_path):
    path = tmp_path / "scores.json"
    path.write_text(text, encoding="utf-8")
    refused(_scores_of_file, path, said)


def test_rewards_that_are_missing_stay_so(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text('{"0": null, "1": NaN, "2": "nan", "3": " 1.5 ", "4": 2}')
    ids, rewards = _scores_of_file(path)
    assert ids == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(rewards, [math.nan] * 3 + [1.5, 2])


@pytest.mark.parametrize("text", ["a = 1\na = 2", "a = 1e-400", "a = -1_0.5e-3_99", "a = 1e400", "a = [1e-400]"])
def test_numbers_in_toml_are_held(text, tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(text)
    refused(source.read, path, "not valid TOML: ")
    with pytest.raises(BadInput, match="too close to 0"):
        source.override({}, "delta=1e-400")


def test_toml_keeps_the_numbers_that_it_has(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text("a = 1_0\nb = 1_0.5\nc = inf\nd = 0e-9\ne = -0.0\n")
    assert source.read(path) == {"a": 10, "b": 10.5, "c": math.inf, "d": 0.0, "e": 0.0}


def test_an_archive_with_two_arrays_of_one_name_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, u=np.eye(3))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("u.npy", archive.read("u.npy"))
    refused(lambda path: rows(path, rewards="u"), path, "has a column 'u' twice")


def test_a_click_log_of_one_endless_line_is_refused(tmp_path):
    path = tmp_path / "clicks"
    path.write_bytes(b"0" * 2**21)
    refused(read_click_log, path, "line 1: is longer than")


def test_what_somebody_writes_into_a_pipe_is_read(tmp_path):
    os.mkfifo(path := tmp_path / "log.csv")
    writer = threading.Thread(target=path.write_text, args=["variant,outcome\nA,1\nB,0\n"])
    writer.start()
    assert [row[1] for row in csv_rows.read("log", path, "a file")] == [["variant", "outcome"], ["A", "1"], ["B", "0"]]
    writer.join()


def test_from_the_command_line_it_is_one_line_and_status_2(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text('variant,outcome,product\nA,1,"5 inch\nB,0,x\n')
    assert cli.main(["ab", "log.csv", "--control", "A"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# Calls that read a file or interpret its content, and where else than in the readers they may stand, and why.
DIRECT = {
    "csv": ("reader", "DictReader"),
    "json": ("load", "loads"),
    "tomllib": ("load", "loads"),
    "np": ("load", "loadtxt", "genfromtxt", "fromfile"),
    "os": ("open", "read", "fdopen"),
    "gzip": ("open",),
    "": ("open", "read_text", "read_bytes"),
}
OWN = "a file of the package itself"
MACHINE = "a file of the system's"
MESSAGE = "a message between processes of one call"
MAY = {
    "support/reading.py": "the reader of text, JSON and TOML",
    "support/csv_rows.py": "the reader of tables",
    "engine/storage/files.py": "the reader of files of ours",
    "engine/storage/appending.py": "what this process itself has just written",
    "engine/storage/npz.py": "an archive that is open",
    "support/cpuinfo.py": MACHINE,
    "engine/layout/sizes.py": MACHINE,
    "running/sizes.py": MACHINE,
    "engine/layout/program_files.py": MACHINE,
    "running/distribution/hosts.py": MESSAGE,
    "running/factories.py": MESSAGE,
    "decide/sessions/directory.py": "what a description will look like in session.json",
    "decide/integrations/optuna_configs.py": "what a value will look like in JSON",
    "__init__.py": OWN,
    "theory/solvers/beta.py": OWN,
    "lab/specs/declared.py": OWN,
    "lab/specs/references.py": "the source of a module that is imported already",
    "lab/specs/source.py": OWN,
    "lab/cli/showing.py": OWN,
    "lab/cli/guides.py": OWN,
    "lab/report/page.py": OWN,
    "environments/recorded/fiesta.py": OWN,
    "environments/recorded/hpo_table.py": "files of an installed package, and of a cache that only the user can write",
    "environments/recorded/r6a.py": "decompresses a file that is open",
    "environments/contextual/rows.py": "an archive that is open",
    "lab/specs/ownership.py": "the secret of the user, of a known size",
    "lab/cli/streams.py": "the null device",
}


def direct(tree):
    """Return the names of such calls in a syntax tree."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open") if "open" not in own:
                yield "open"
            case ast.Attribute(value=ast.Name(id="storage" | "reading" | "npz_files")):
                continue
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in DIRECT:
                if name in DIRECT[module]:
                    yield f"{module}.{name}"
            case ast.Attribute(attr=name) if name in DIRECT[""]:
                yield f".{name}"


@pytest.mark.slow
def test_nothing_else_opens_files_or_interprets_them():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        calls = sorted(set(direct(ast.parse(path.read_text(encoding="utf-8")))))
        if calls:
            found[path.relative_to(PACKAGE).as_posix()] = calls
    more = {name: calls for name, calls in found.items() if name not in MAY}
    assert more == {}, "use support.reading, support.csv_rows or engine.storage.files"
    assert sorted(MAY) == sorted(found), "a file of MAY reads nothing any more"
