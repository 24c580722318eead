"""Logs of visitors: what is read, from files, tables and dates, and what is refused with its line."""

import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.variants import times, visitors
from jaxbandit.decide.variants.visitors import Columns
from jaxbandit.support.refusals import BadInput

PLAIN = Columns()


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def place(row):
    return f"row {row}"


def test_a_file_with_a_mark_quotes_empty_lines_and_spaces(tmp_path):
    text = '\ufeffid, variant ,outcome\r\n1,"A, the old",1\r\n\r\n2, B ,0\r\n3,"B",\r\n4,"A, the old",1.0\r\n'
    log = visitors.read(written(tmp_path / "log.csv", text), [PLAIN])[0]
    assert log.names == ("A, the old", "B") and log.variant.tolist() == [0, 1, 1, 0]
    assert log.outcome[[0, 1, 3]].tolist() == [1, 0, 1] and np.isnan(log.outcome[2])


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(tmp_path, delimiter):
    text = "variant,outcome\nA,1\nB,0\n".replace(",", delimiter)
    assert visitors.read(written(tmp_path / "log", text), [PLAIN])[0].outcome.tolist() == [1, 0]


def test_words_of_outcomes():
    log = {"variant": list("ABABABA"), "outcome": ["yes", "NO", "True", "false", "1", " 0 ", None]}
    outcome = visitors.read(log, [PLAIN])[0].outcome
    assert outcome[:6].tolist() == [1, 0, 1, 0, 1, 0] and np.isnan(outcome[6])
    as_bools = visitors.read({"variant": list("AB"), "outcome": np.array([True, False])}, [PLAIN])[0]
    assert as_bools.outcome.tolist() == [1, 0]


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "variant": pandas.Categorical(["A", "B", "A"]), "outcome": pandas.array([1, None, 0], dtype="Int64"),
        "t": pandas.to_datetime(["2026-01-02", "2026-01-01", "2026-01-03"]),
    })  # fmt: skip
    log = visitors.read(frame, [Columns("variant", "outcome", "t", None)])[0]
    assert log.names == ("B", "A") and log.variant.tolist() == [0, 1, 1] and "sorted" in log.notes[0]
    assert np.isnan(log.outcome[0]) and log.outcome[1:].tolist() == [1, 0]
    assert np.diff(log.time).tolist() == [86400, 86400] and log.dated
    frame["t"] = frame["t"].dt.tz_localize("Europe/Berlin")
    assert visitors.read(frame, [Columns("variant", "outcome", "t", None)])[0].time[0] == log.time[0] - 3600


def test_rows_are_sorted_by_time_and_ties_keep_their_order():
    log = {"variant": list("ABBA"), "outcome": [1, 0, 1, 0], "t": [2, 1, 2, 1], "b": [0, 0, 1, 1]}
    found = visitors.read(log, [Columns("variant", "outcome", "t", "b")])[0]
    assert found.names == ("B", "A") and found.variant.tolist() == [0, 1, 1, 0]
    assert (
        found.outcome.tolist() == [0, 0, 1, 1] and found.block.tolist() == [0, 1, 0, 1] and "sorted" in found.notes[0]
    )
    assert not visitors.read({**log, "t": [1, 1, 2, 2]}, [Columns("variant", "outcome", "t", "b")])[0].notes
    result = jb.ab(log, control="A", columns={"time": "t"})
    assert any("sorted" in note for note in result.notes)


def test_times_and_windows():
    dates, dated = times.column(["2026-01-31", "2026-01-31T12:30", "2026-01-31 12:30:01"], place)
    assert dated and dates[0] == datetime(2026, 1, 31, tzinfo=UTC).timestamp()
    assert np.diff(dates).tolist() == [45000, 1]
    zones, _ = times.column(["2026-01-31T00:00Z", "2026-01-31T00:00+01:00"], place)
    assert np.diff(zones).tolist() == [-3600]
    numbers, dated = times.column(["1.5", " 2"], place)
    assert numbers.tolist() == [1.5, 2] and not dated
    lengths = [times.window(x, True) for x in ("7d", "1.5h", "30 m", "90s", "2w", timedelta(days=1))]
    assert lengths == [7 * 86400, 5400, 1800, 90, 14 * 86400, 86400] and times.window("7.5", False) == 7.5
    assert times.moment("2026-01-31", True) == times.moment(datetime(2026, 1, 31, tzinfo=UTC), True)
    assert times.moment(datetime(2026, 1, 31), True) == dates[0] and times.moment("3", False) == 3
    assert times.text(dates[0], True) == "2026-01-31" and times.text(dates[1], True) == "2026-01-31 12:30"
    assert times.text(12.5, False) == "12.5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("variant,outcome\nA,1\nB,maybe\n", 'line 3: outcome = "maybe", must be a number such as 0, 1'),
        ("variant,outcome\nA,1\n\nB,1_0\n", 'line 4: outcome = "1_0", must be a number'),
        ("variant,outcome\nA,1\nB,inf\n", 'line 3: outcome = "inf", must be a number'),
        ("variant,outcome\nA,1\n,0\n", 'line 3: variant = "", must be a name'),
        ("variant,outcome\nA,1\nB\n", "line 3: has 1 cells, must have 2"),
        ('variant,outcome\n"A\nand more",1\nB,0,0\n', "line 4: has 3 cells, must have 2"),
        ("variant,outcome\nA,1\nA,0\n", "variant has only 'A', must have at least two variants"),
        ("variant,outcome\n", "variant has no rows, must have at least two"),
        ("", "has no column 'variant': there is no line of names"),
        ("variants,outcome\nA,1\n", "has no column 'variant', its columns are 'variants', 'outcome'; did you mean"),
        ("variant,outcome,outcome\nA,1,1\n", "has a column 'outcome' twice"),
        (
            "variant,outcome\n" + "".join(f"user{i},1\n" for i in range(40)),
            "has 40 different values, must have at most 30",
        ),
        ("variant,outcome\nA,\nB,\n", "outcome is empty in all rows"),
        ("variant,outcome\nA,1\nB,0\n", 'control = "C", must be one of A, B'),
    ],
)
def test_refusals_name_file_line_column_and_value(tmp_path, text, message):
    path = written(tmp_path / "log.csv", text)
    with pytest.raises(BadInput) as error:
        jb.ab(path, control="C")
    assert str(error.value).startswith(str(path)) and message in str(error.value) and "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    for path, message in (
        (tmp_path / "none.csv", "cannot be read"),
        (tmp_path, "cannot be read"),
        (written(tmp_path / "wide.csv", "variant,outcome\nA,1\n", "utf-16"), "is not text in UTF-8"),
        (written(tmp_path / "long.csv", 'variant,outcome\nA,"' + "1" * 200_000 + '"\nB,0\n'), "not CSV"),
    ):
        with pytest.raises(BadInput, match=message):
            jb.ab(path, control="A")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log": 3}, "ab: log = 3, must be a path, a DataFrame or a dictionary"),
        (
            {"log": {"variant": ["A", "B"], "outcome": [1]}},
            "the columns have different lengths, 'variant' 2, 'outcome' 1",
        ),
        ({"log": {"variant": ["A"]}}, "has no column 'outcome'"),
        ({"control": "a"}, "control = \"a\", must be one of A, B, the variants of the log; did you mean 'A'"),
        ({"goal": "B"}, "ab: goal = 'B', must be a jb.Goal, or a number"),
        ({"goal": -0.1}, "Goal: epsilon = -0.1, must be a number in"),
        ({"goal": jb.Goal(min_trainings=5)}, "ab: Goal(min_trainings=5) means nothing for a log of visitors"),
        ({"columns": "outcome"}, "ab: columns = 'outcome', must be names of columns"),
        ({"columns": {"outcom": "x"}}, "ab: columns: outcom: unknown key, must be one of variant, outcome"),
        ({"removed": ["A", "B"]}, "removed has all variants, must leave one"),
        ({"removed": ["X"]}, 'removed = "X", must be one of A, B'),
        ({"late": ["A"]}, "late = 'A', must be a variant that entered after another"),
        ({"late": ["X"]}, 'late = "X", must be one of'),
        ({"goal": jb.Goal(score_range=(0, 0.5))}, "outcome = 1.0, must be in [0, 0.5]"),
        ({"goal": jb.Goal(score_range=(0.5, 2))}, "outcome = 0.0, must be in [0.5, 2]"),
        ({"window": 1}, "ab: window needs the times"),
        ({"now": 1}, "ab: now is used only with a window"),
        ({"window": "7d", "columns": {"time": "t"}}, "ab: window = '7d', must be a number >= 0"),
        ({"window": -1, "columns": {"time": "t"}}, "ab: window = -1, must be a number >= 0"),
        ({"window": 1, "columns": {"time": "t"}, "now": "x"}, "ab: now = 'x', must be a number"),
        ({"window": 1, "columns": {"time": "t"}, "now": 2}, "ab: now = 2, must be at or after 3"),
        ({"window": 7, "columns": {"time": "d"}}, "ab: window = 7, must be such as 7d"),
        ({"window": "7d", "columns": {"time": "d"}, "now": "soon"}, "ab: now = 'soon', must be a date"),
        ({"columns": {"time": "bad"}}, 'row 1: bad = "x", must be a number, as in the first row'),
        (
            {"columns": {"time": "mixed"}},
            'row 1: mixed = "2026-01-02T00:00Z", must be with a time zone in all rows or in none',
        ),
        ({"columns": {"time": "hole"}}, "row 2: hole = nan, must be a time"),
        (
            {"columns": {"block": "b", "unit": "b"}},
            "ab: columns: block has one row for each variant and block; leave it or unit out",
        ),
        ({"columns": {"visitors": "t", "unit": "b"}}, "ab: columns: unit is about single visitors, not counts"),
        ({"columns": {"conversions": "t"}}, "ab: columns: conversions needs the number of visitors"),
        ({"columns": {"visitors": "t", "conversions": "bad"}}, 'row 1: bad = "x", must be a whole number >= 0'),
        ({"columns": {"visitors": "halves"}}, "row 0: halves = 1.5, must be a whole number >= 0"),
        (
            {"columns": {"visitors": "t", "conversions": "d3"}},
            "row 0: d3 = 3.0, must be at most 0, the visitors of the row",
        ),
        ({"columns": {"visitors": "only_b"}}, "row 0: only_b: only B has visitors, must be at least two variants"),
        ({"columns": {"visitors": "many"}}, "the column adds up to 4,000,000,000, must be in [1, 100,000,000]"),
        ({"of_unit": "mean"}, "ab: of_unit = 'mean', must be one of sum, any, last"),
        (
            {"columns": {"unit": "one"}},
            "ab: columns: unit: fewer than two variants have units that",
        ),
        ({"planned": {"A": 1}}, "ab: planned has no share for B"),
        ({"planned": {"A": 1, "C": 1}}, 'ab: planned = "C", must be one of A, B'),
        ({"planned": {"A": 1, "B": 0}}, "ab: planned['B'] = 0, must be a number in (0, inf)"),
        ({"planned": {"A": 1, "B": "x"}}, "ab: planned['B'] = 'x', must be a number in (0, inf)"),
        ({"planned": "even"}, "ab: planned = 'even', must be a share for each variant"),
        ({"goal": jb.Goal(quantile=0.5), "cap": 1}, "ab: cap is not needed for a quantile"),
        ({"cap": 0}, "ab: cap = 0, must be above 0"),
        ({"cap": "x"}, "ab: cap = 'x', must be a finite number"),
        (
            {"cap": 5, "columns": {"outcome": "below"}},
            "below = -1.0, must be at least 0 beside a cap; give cap=(low, high)",
        ),
        (
            {"cap": (0, 1), "goal": jb.Goal(score_range=(0, 1))},
            "ab: goal: score_range is not needed beside a pair of caps",
        ),
        ({"cap": (1, 0)}, "ab: cap = (1, 0), must be two finite numbers (low, high) with low < high"),
        ({"columns": {"outcome": "huge"}}, "row 3: huge = 1e+200, must be a number of modulus at most 1e+150"),
    ],
)
def test_arguments_that_are_refused(change, message):
    log = {
        "variant": list("ABAB"), "outcome": [0, 1, 1, 0], "t": [0, 1, 2, 3],
        "d": ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"], "bad": ["1", "x", "2", "3"],
        "mixed": ["2026-01-01", "2026-01-02T00:00Z", "2026-01-03", "2026-01-04"], "hole": np.array([0, 1, np.nan, 3]),
        "b": [0, 0, 0, 1],
        "only_b": [0, 5, 0, 0], "halves": [1.5, 1, 1, 1], "d3": [3, 0, 0, 0], "many": [1e9] * 4, "below": [-1, 0, 2, 3],
        "one": [7] * 4,
        "huge": np.array([1.0, 2.0, 3.0, 1e200]),
    }  # fmt: skip
    with pytest.raises(ValueError) as error:
        jb.ab(change.pop("log", log), **{"control": "A", **change})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_table_of_another_kind_is_read_by_its_columns():
    class Frame(SimpleNamespace):
        def __getitem__(self, name):
            return self.data[name]

    frame = Frame(columns=["variant", "outcome", 3], data={"variant": list("AB"), "outcome": [0, 1]})
    assert visitors.read(frame, [PLAIN])[0].outcome.tolist() == [0, 1]


def test_a_million_rows_are_read_in_seconds(tmp_path):
    """100,000 here, in a second; and JAX is not imported to read a log."""
    from time import perf_counter

    rows = "".join(f"{'AB'[i % 2]},{i % 7 // 6}\n" for i in range(100_000))
    path = written(tmp_path / "log.csv", "variant,outcome\n" + rows)
    start = perf_counter()
    assert len(visitors.read(path, [PLAIN])[0].outcome) == 100_000
    assert perf_counter() - start < 3 and sys.getsizeof(rows) > 0
