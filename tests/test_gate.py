"""`no_worse` and `jaxbandit gate`: verdicts, what is compared, commands that fail or hang, and exit statuses."""

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.decide.gate.statement import Versions
from jaxbandit.lab import cli
from jaxbandit.theory.comparisons.betting import stated_upper
from jaxbandit.theory.quantile_bounds import quantile_sequence

pytestmark = pytest.mark.quickly_compiled

ROOT = Path(__file__).parents[1]


def running() -> str:
    return subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True).stdout


def begin_gate(seconds: str) -> subprocess.Popen:
    """Return the process of a gate whose new command sleeps."""
    command = [sys.executable, "-m", "jaxbandit", "gate", "true", f"sleep {seconds}", "--timeout", "60s"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    for _ in range(600):
        time.sleep(0.1)
        if f"sleep {seconds}\n" in running().replace(f"gate true sleep {seconds}", ""):
            return process
    raise AssertionError("the command was not called")


def noisy(version, scale, spread=0.1):
    return lambda seed: scale * math.exp(spread * np.random.default_rng([seed, version]).standard_normal())


@pytest.mark.slow
@pytest.mark.statistical
def test_verdicts_are_right_on_either_side_of_the_margin_and_never_beyond_delta_on_it():
    """At a ratio on the margin, "fail" is wrong with probability .05 at most: 7 of 60 or more by chance once in 50."""
    for ratio, expected in ((1.0, "pass"), (1.02, "pass"), (1.1, "fail"), (1.3, "fail")):
        found = [jb.no_worse(noisy(0, 5), noisy(1, 5 * ratio), seed=seed) for seed in range(5)]
        assert [gate.verdict for gate in found] == [expected] * 5
    found = [jb.no_worse(noisy(0, 5), noisy(1, 5 * 1.05), seed=seed, max_calls=200).verdict for seed in range(60)]
    assert stats.binom.sf(6, 60, 0.05) < 0.05 and found.count("fail") <= 6 and found.count("undecided") > 45


def test_the_bounds_are_those_of_the_median_of_the_ratios_at_the_level_delta():
    rng = np.random.default_rng(3)
    old, new = rng.lognormal(0, 0.1, (2, 40))
    gate = jb.no_worse(old, new, delta=0.1)
    low, high = quantile_sequence(new / old, 0.5, 0.1)
    assert (gate.bounds.ratio_low, gate.bounds.ratio_high) == (low, high)
    assert gate.bounds.ratio == sorted(new / old)[19] and gate.calls == 80 and gate.why == "rows"
    swapped = jb.no_worse(new, old, delta=0.1, maximize=True)
    assert swapped.bounds[:3] == gate.bounds[:3] and "old / new" in swapped.words
    assert jb.no_worse(old, new, margin=np.nextafter(high, 2)).verdict == "undecided"  # at delta = .05
    assert jb.no_worse(old, new, margin=high, delta=0.1).verdict == "pass"
    assert jb.no_worse(old + 1, old + 1, margin=1.0).verdict == "pass"  # what is equal is no worse
    ties = jb.no_worse([0.0] * 20, [0.0] * 19 + [2.0])  # 0 / 0 is 1
    assert ties.verdict == "pass" and ties.bounds.ratio == 1
    on = jb.no_worse(np.ones(100), rng.permutation([2.0, 3.0] * 50), margin=2)  # a bound on the margin is not above it
    assert on.bounds[1:3] == (2, 3) and (on.verdict, on.why) == ("undecided", "rows")


def test_another_quantile_compares_the_versions_one_by_one():
    """Old never pauses, new in one call of five: the medians are equal, and the 0.9-quantiles are not."""
    rng = np.random.default_rng(0)
    old = rng.lognormal(0, 0.02, 400)
    new = rng.lognormal(0, 0.02, 400) + 5 * (rng.random(400) < 0.2)
    assert jb.no_worse(old, new).verdict == "pass"
    gate = jb.no_worse(old, new, quantile=0.9)
    assert gate.verdict == "fail" and gate.bounds.ratio > 4
    ends = [quantile_sequence(x, 0.9, 0.025) for x in (old, new)]  # half of delta for each version
    assert gate.bounds.ratio_low == pytest.approx(ends[1][0] / ends[0][1], rel=1e-12)
    assert gate.bounds.ratio_high == pytest.approx(ends[1][1] / ends[0][0], rel=1e-12)
    swapped = jb.no_worse(new, old, quantile=0.9, maximize=True)
    assert swapped.verdict == "fail" and swapped.bounds.ratio_low == pytest.approx(gate.bounds.ratio_low)


def test_scores_of_two_models_on_the_same_questions_are_compared_by_their_means():
    hard = np.random.default_rng(0).random(600)
    old, same, bad = (1.0 * (hard < skill) for skill in (0.8, 0.79, 0.6))
    compare = partial(jb.no_worse, old, quantile=None, maximize=True)
    gate = compare(same)
    assert gate.verdict == "pass" and gate.bounds.ratio == pytest.approx(old.mean() / same.mean())
    assert "all values are in [0, 1]" in gate.assumptions and math.isnan(gate.bounds.ratio_low)
    assert gate.bounds.excess_low < old.mean() - 1.05 * same.mean() < gate.bounds.excess_high <= 0
    apart = (old - 1.05 * same) / 1.05  # in units of the range of old and 1.05 x new together
    assert gate.bounds.excess_high == pytest.approx(1.05 * stated_upper(apart, 0.05), rel=1e-9)
    assert compare(bad).verdict == "fail" and compare(same, score_range=(0, 1)).bounds == gate.bounds
    with pytest.raises(ValueError, match="all values are 0 or 1; give quantile=None and score_range"):
        jb.no_worse(old, bad, maximize=True)
    with pytest.raises(ValueError, match=r"old has the value 1, must be in \[0, 0.5\], given by score_range"):
        compare(same, score_range=(0, 0.5))


def test_means_of_normal_values_are_compared_within_pairs():
    rng = np.random.default_rng(1)
    level, noise = rng.normal(10, 3, 60), rng.normal(0, 0.1, (2, 60))
    old, good, bad = level + noise[0], level + noise[1], 1.3 * level + noise[1]
    assert jb.no_worse(old, good, quantile=None).verdict == "pass"
    gate = jb.no_worse(old, bad, quantile=None)
    assert gate.verdict == "fail" and any("new - 1.05 x old in a pair are normal" in line for line in gate.assumptions)
    quick = jb.no_worse(noisy(0, 1.0, 1e-3), noisy(1, 2.0, 1e-3), quantile=None)
    assert quick.verdict == "fail" and quick.calls == 28  # what happens in 19 % of the calls has been seen
    with pytest.raises(ValueError, match="all values of a version are the same"):
        jb.no_worse([3.0] * 30, [5.0] * 30, quantile=None)


def test_a_load_of_the_machine_cancels_within_pairs_but_not_between_versions():
    """Equal versions, and a load that falls: bounds of the versions one by one would exclude each other."""
    load = np.repeat([2.0, 1.0], 150) * np.random.default_rng(0).lognormal(0, 0.02, (2, 300))
    assert jb.no_worse(*load).verdict == "pass"
    apart = jb.no_worse(*load, quantile=0.4)
    assert apart.verdict == "undecided" and apart.why == "contradiction" and "contradict" in apart.words


def test_a_ratio_that_changes_contradicts_what_is_assumed():
    rng = np.random.default_rng(0)
    old, new = rng.lognormal(0, 0.02, (2, 200))
    new[100:] *= 1.03
    gate = jb.no_worse(old, new, margin=1.3)
    assert gate.verdict == "undecided" and gate.why == "contradiction"
    assert str(gate).startswith("undecided: the data contradict an assumption: the first half")


def test_functions_are_called_in_pairs_with_common_seeds_in_random_order_after_a_warm_up():
    calls = []

    def old(seed):
        calls.append(("old", seed))
        return 1.0

    def new(seed):
        calls.append(("new", seed))
        return 1.0 + 1e-3 * len(calls)

    gate = jb.no_worse(old, new, max_calls=21, warm_up=2, margin=1.0001 + 0.012)
    assert gate.calls == 20 and gate.why == "max_calls" and len(calls) == 24
    pairs = list(zip(calls[::2], calls[1::2], strict=True))
    assert all(one[1] == two[1] and one[0] != two[0] for one, two in pairs)
    assert len({seed for _, seed in calls}) == 12 and len({one[0] for one, _ in pairs}) == 2
    values = [1.0 + 1e-3 * (i + 1) for i, (name, _) in enumerate(calls) if name == "new"][2:]
    assert gate.values["new"].tolist() == values and gate.values["old"].tolist() == [1.0] * 10
    before = list(calls)
    calls.clear()
    jb.no_worse(old, new, max_calls=21, warm_up=2, margin=1.0001 + 0.012)
    assert calls == before


def test_functions_without_an_argument_are_timed():
    gate = jb.no_worse(lambda: None, lambda: time.sleep(0.02), warm_up=0)
    assert gate.verdict == "fail" and gate.values["new"].min() >= 0.02 > gate.values["old"].min() > 0
    late = jb.no_worse(lambda: time.sleep(0.05), lambda: time.sleep(0.05), timeout=0.4)
    assert late.verdict == "undecided" and late.why == "timeout" and late.seconds < 20
    assert "is not known after" in late.words and "the timeout is over" in late.words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "options", "says"),
    [
        ("true", "nosuchprogram", {}, "new: the command 'nosuchprogram' cannot be started (No such file or directory)"),
        ("true", "sh -c 'echo oops >&2; exit 3'", {}, "ended with exit status 3 (oops); mend it"),
        ("sh -c 'kill -9 $$'", "true", {}, "was ended by signal 9"),
        ("true", "sleep 50", {"timeout": 1}, "'sleep 50' did not end within the 1 s of the gate"),
        ("true", "echo nan", {"from_output": True}, "the last line of what it prints"),
        ("true", "'", {}, "cannot be divided into words"),
        ("", "true", {}, "old = '', must be a function, a command"),
        ("true", [1.0], {}, "old is a command and new a column, must be two of the same kind"),
        (3, [1.0], {}, "old = 3, must be a function, a command"),
        ([1.0], [float("nan")], {}, "new[0] = nan, must be a number in [0, 1e+150]"),
        ([1.0, -1.0], [1.0, 1.0], {}, "old[1] = -1.0, must be a number in [0, 1e+150]"),
        ([1.0], [1.0, 2.0], {}, "old and new have 1 and 2 rows"),
        ([], [], {}, "old and new are empty"),
        ([1.0], [1.0], {"from_output": True}, "from_output = True means nothing for a column"),
        ([1.0], [1.0], {"margin": 0.9}, "margin = 0.9, must be a number in [1, inf)"),
        ([1.0], [1.0], {"margin": float("nan")}, "margin = nan, must be a number in [1, inf)"),
        ([1.0], [1.0], {"timeout": "x"}, "timeout = 'x', must be a number of seconds > 0"),
        ([1.0], [1.0], {"score_range": (0, 1)}, "quantile and score_range are both given"),
        ([1.0], [1.0], {"score_range": (-1, 1), "quantile": None}, "must be a pair of numbers >= 0"),
        (lambda seed: float("nan"), lambda seed: 1.0, {}, "old: a call returns a value = nan"),
        (lambda seed: 1.0, lambda seed: "a", {}, "new: a call returns a value = \"a\""),
        (lambda seed: 1.0, lambda seed: 1 / 0, {}, "new raises ZeroDivisionError: division by zero"),
        (lambda a, b: 1.0, lambda seed: 1.0, {}, "takes 2 arguments, must take no argument"),
        (lambda seed: 1.0, lambda seed: 2.0, {"max_calls": 1}, "no pair of calls has ended within"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_one_line(old, new, options, says):
    with pytest.raises(ValueError) as error:
        jb.no_worse(old, new, **options)
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
def test_a_command_that_hangs_later_leaves_what_is_known(tmp_path):
    """The fifth call of new never ends: it is ended with the time of the gate, and what it has begun, too."""
    script = tmp_path / "new.sh"
    script.write_text(
        "echo x >> calls\n[ $(wc -l < calls) -lt 5 ] || { sleep 47.25 & sleep 47.25; }\n", encoding="utf-8"
    )
    start = time.monotonic()
    gate = jb.no_worse(["sh", "-c", f"cd {tmp_path}; true"], ["sh", "-c", f"cd {tmp_path}; . ./new.sh"], timeout=4)
    assert gate.verdict == "undecided" and gate.why == "timeout" and gate.calls == 6
    assert time.monotonic() - start < 30
    assert "sleep 47.25" not in running()


def test_the_number_that_a_command_prints(tmp_path):
    gate = jb.no_worse([sys.executable, "-S", "-c", "print('x'); print(3)\nprint()"], "echo 4.5", from_output=True)
    assert gate.verdict == "fail" and set(gate.values["old"]) == {3.0} and set(gate.values["new"]) == {4.5}


@pytest.mark.slow
def test_the_command_has_a_status_for_each_verdict(tmp_path, capsys):
    rng = np.random.default_rng(0)
    old = rng.lognormal(0, 0.02, 100)
    table = tmp_path / "times.csv"
    rows = "\n".join(f"{x},{1.3 * x},{x * (1 + 0.2 * (i % 2))}" for i, x in enumerate(old.tolist()))
    table.write_text(f"old,slow,odd\n{rows}\n", encoding="utf-8")
    for column, margin, status in (("slow", 1.4, 0), ("slow", 1.05, 4), ("odd", 1.1, 5)):
        assert cli.main(["gate", "old", column, "--table", str(table), "--margin", str(margin), "--json"]) == status
        found = json.loads(capsys.readouterr().out)
        assert found["verdict"] == {0: "pass", 4: "fail", 5: "undecided"}[status] and found["calls"] == 200
    options = ["--mean", "--range", "0", "2", "--delta", "0.1", "--maximize", "--seed", "3"]
    assert cli.main(["gate", "slow", "old", "--table", str(table), *options]) == 4
    assert "the mean of slow" not in capsys.readouterr().out
    assert cli.main(["gate", "echo 1", "echo 2", "--from-output", "--warm-up", "0"]) == 4
    assert cli.main(["gate", "true", "sleep 0.001", "--max-calls", "2", "--timeout", "9s"]) == 5
    capsys.readouterr()
    for argv, says in (
        (["old", "old", "--table", str(table)], "gate: OLD and NEW are both the column"),
        (["old", "new", "--table", str(table)], "has no column 'new'"),
        (["true", "false"], "ended with exit status 1"),
        (["true", "true", "--margn", "2"], "--margn"),
        (["true", "true", "--quantile", "2"], "quantile = 2.0, must be a number in (0, 1)"),
    ):
        assert cli.main(["gate", *argv]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert says in line


@pytest.mark.slow
def test_an_interrupt_ends_the_command_that_runs_at_once():
    """It says that nothing is known: the first pair, to warm up, has not ended."""
    process = begin_gate("46.75")
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 3 and time.monotonic() - start < 20  # of 46.75, on a busy machine
    assert said == "jaxbandit: undecided: interrupted before the first pair had ended\n"
    assert "sleep 46.75" not in running()


@pytest.mark.slow
def test_an_interrupt_before_anything_can_be_said_promises_no_resuming():
    """The gate does not hear of the interrupt, as if it computed for long."""
    code = (
        "import time; from unittest.mock import Mock\n"
        "from jaxbandit.lab import cli; import jaxbandit.decide.gate.no_worse as m\n"
        "m.no_worse = Mock(side_effect=lambda *_, **__: (print('ready', flush=True), time.sleep(40)))\n"
        "import sys; sys.argv = ['jaxbandit', 'gate', 'true', 'true']; cli.process()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    assert said == "jaxbandit: interrupted; nothing is kept, and the same command begins anew\n"


def test_an_interrupt_leaves_a_line_of_what_is_known_and_says_that_nothing_is_kept(capsys, monkeypatch):
    """Twelve pairs of which new takes 1.01 or 1.3 times as long, until an interrupt in the next call."""

    def new(seed, calls=[]):  # noqa: B006
        calls.append(seed)
        if len(calls) == 14:
            raise KeyboardInterrupt
        return 1.3 if len(calls) % 2 else 1.01

    with pytest.raises(KeyboardInterrupt) as stop:
        jb.no_worse(lambda seed: 1.0, new)
    low, high = quantile_sequence(np.array([1.01, 1.3] * 6), 0.5, 0.05)
    between = f"is between {low:.4g} and {high:.4g}, and the margin is 1.05"
    said = f"undecided: the median of new / old within a pair {between}; interrupted after 12 pairs, which are not kept"
    assert str(stop.value) == said
    monkeypatch.setattr("jaxbandit.decide.gate.no_worse.no_worse", Mock(side_effect=KeyboardInterrupt(said)))
    assert cli.main(["gate", "true", "true"]) == 3 and capsys.readouterr().err == f"jaxbandit: {said}\n"


def test_bounds_that_exclude_each_other_decide_nothing():
    known = Versions(("new", "old"), 1.05, 0.5, 0.05, None)
    known.enter(np.repeat([[3.0, 3.0], [1.0, 1.0]], (40, 200), axis=0))
    assert known.verdict() == "" and "contradict" in known.alert()[0]


@pytest.mark.slow
def test_the_line_of_the_workflow_in_the_recipe_is_a_command(tmp_path, monkeypatch, capsys):
    [line] = re.findall(r"- run: (jaxbandit gate .*)", (ROOT / "docs/recipes/gate.md").read_text(encoding="utf-8"))
    command = shlex.split(line.replace('"python ', f'"{sys.executable} -S '))
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("old", 0.0), ("new", 0.4)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "work.py").write_text(f"import time; time.sleep({seconds})", encoding="utf-8")
    assert cli.main(command[1:]) == 4 and "fail: the median of new / old" in capsys.readouterr().out
