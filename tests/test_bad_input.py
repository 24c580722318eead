"""Bad input is refused before anything runs: exit status 2, one line that names the file, the key and the remedy."""

import os
from pathlib import Path

import pytest

from jaxbandit.lab import cli

pytestmark = pytest.mark.quickly_compiled

GOOD = """\
name = "good"
kind = "simulate"
runs = 4
horizon = 50

[[instance]]
name = "b"
type = "bernoulli"
means = [0.1, 0.9]

[[algorithm]]
name = "kl"
type = "ucb"
distance = "kl"
c = 0.0

[[algorithm]]
name = "boost"
type = "ucboost"
"""

STOPPING = """\
name = "stopping"
kind = "identify"
runs = 4
max_rounds = 50

[[instance]]
name = "l"
type = "linear"
features = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
theta = [0.5, 1.0]

[[algorithm]]
name = "top"
type = "m_lingape"
m = 2
rule = "optimized"
delta = 0.05
epsilon = 0.1
"""

CONTEXTUAL = """\
name = "contextual"
kind = "simulate"
runs = 4
horizon = 50

[[instance]]
type = "linear_contextual"
action_sets = [[[1, 0], [0, 1]], [[1, 0], [0.5, 0.5]]]
probabilities = [0.3, 0.7]
theta = [1.0, 0.0]

[[algorithm]]
type = "oam"
"""

# A line for each case: what is replaced in the file, by what, and what the refusal must hold: the key with its place,
# and the remedy.
BAD_GOOD = r"""
runs = 4 => rums = 4 | rums | did you mean 'runs'
runs = 4 => runs = 4\ncolour = 1 | colour | must be one of name, kind, runs
runs = 4 => runs = 0 | runs = 0 | an integer in [1, 2147483647]
runs = 4 => runs = 4.0 | runs = 4.0 | an integer
runs = 4 => runs = true | runs = true | an integer
runs = 4 => | runs: missing | must be an integer in [1,
horizon = 50 => horizon = -1 | horizon = -1 | an integer in [1,
horizon = 50 => horizon = 3000000000 | horizon = 3000000000 | an integer in [1,
horizon = 50 => horizon = "50" | horizon = "50" | an integer
runs = 4 => runs = 4\nseed = -1 | seed = -1 | an integer in [0,
runs = 4 => runs = 4\nprecision = "float23" | precision | did you mean 'float32'
horizon = 50 => horizon = 20000000\nprecision = "float32" | precision = "float32" | "float64" for horizon = 20000000
kind = "simulate" => | kind: missing | must be one of simulate
kind =  => knd = | knd: unknown key | did you mean 'kind'
simulate => identify | horizon = 50 | only for kind = "simulate"
simulate => simulte | kind = "simulte" | did you mean 'simulate'
runs = 4 => runs = 4\nmax_rounds = 9 | max_rounds = 9 | only for kind = "identify"
name = "good" => name = "" | name = "" | a non-empty string
runs = 4 => runs = 4\ncheckpoints = [9, 5] | checkpoints[1] = 5 | greater than 9
runs = 4 => runs = 4\ncheckpoints = [9, 9] | checkpoints[1] = 9 | greater than 9
runs = 4 => runs = 4\ncheckpoints = [0, 9] | checkpoints[0] = 0 | [1, 50]
runs = 4 => runs = 4\ncheckpoints = [9, 51] | checkpoints[1] = 51 | [1, 50]
runs = 4 => runs = 4\ncheckpoints = [] | checkpoints = [] | increasing rounds
[[instance]] => [[instances]] | instances: unknown key | did you mean 'instance'
[[instance]] => [instance] | instance = | [[instance]] tables
type = "bernoulli" => | instance[0].type: missing | must be a name that jaxbandit list --kind environment prints
"bernoulli" => "bernouli" | instance[0].type | did you mean 'bernoulli'
"ucboost" => "ucbost" | algorithm[1].type | did you mean 'ucboost'
"ucboost" => 3 | algorithm[1].type = 3 | must be a name that jaxbandit list --kind simulate prints
c = 0.0 => C = 0.0 | algorithm[0].C: unknown key | must be one of name, type, distance, c
c = 0.0 => DISTANC = 0.0 | algorithm[0].DISTANC | did you mean 'distance'
"ucboost" => "UCBoost" | type = "UCBoost" | did you mean 'ucboost'
"ucboost" => "lucb" | bad.toml: algorithm[1].type = "lucb", is for kind = "identify", not for kind = "simulate"\n
means = [0.1, 0.9] => | instance[0].means: missing | bernoulli needs it
c = 0.0 => num_arms = 2 | algorithm[0].num_arms | leave it out
"boost" => "kl" | algorithm[1].name | must differ from algorithm[0].name
0.9] => 1.5] | instance[0].means[1] = 1.5 | [0, 1]
0.9] => nan] | instance[0].means[1] = nan | a finite number
0.9] => true] | instance[0].means[1] = true | a finite number
0.9] => "0.9"] | instance[0].means[1] = "0.9" | a finite number
[0.1, 0.9] => 0.1 | instance[0].means = 0.1 | a list of numbers
[0.1, 0.9] => [] | instance[0].means = [] is empty | a list of numbers
runs = 4 => runs = 4\nper_run = 1 | per_run = 1 | true or false
runs = 4 => runs = 4\nmax_failed = 2 | max_failed = 2 | a number in [0, 1]
[0.1, 0.9] => [[0.1], [0.9]] | instance[0].means has shape (2, 1) | must have 1 axes
[0.1, 0.9] => [[0.1], [0.9, 1]] | instance[0].means[1] = [0.9, 1] | of shape (1,)
c = 0.0 => c = inf | algorithm[0].c = inf | a number in [0, inf)
"bernoulli" => "gaussian" | ucb is made for rewards in [0, 1] | allow = ["rewards"]
c = 0.0 => c = true | algorithm[0].c = true | a number in [0, inf)
c = 0.0 => c = -1.0 | algorithm[0].c = -1.0 | must be a number in [0
"kl"\nc => "kll"\nc | algorithm[0].distance = "kll" | did you mean 'kl'
type = "ucboost" => type = "ucboost"\ndistances = "bq" | algorithm[1].distances | a list of
distance = "kl" => distance = {sweep = ["kl", "sq"]} | algorithm[0].distance | cannot be swept
[0.1, 0.9] => {sweep = [0.1]} | instance[0].means | cannot be swept
c = 0.0 => c = {sweep = []} | algorithm[0].c.sweep = [] | a list of numbers
c = 0.0 => c = {sweep = [1, 1.0]} | algorithm[0].c.sweep[1] = 1.0 | must be different from the entry [0]
c = 0.0 => c = {sweeep = [1]} | algorithm[0].c | a number in [0, inf)
c = 0.0 => c = {sweep = [0, -2]} | algorithm[0].c.sweep[1] = -2 | must be a number in [0
distance = "kl" => distance = "k | not valid TOML | line
runs = 4 => runs = 4\nruns = 5 | not valid TOML | line
"bernoulli"\nmeans = [0.1, 0.9] => "table"\nrewards = "no.csv" | instance[0].rewards | give a CSV
"""
BAD_STOPPING = r"""
max_rounds = 50 => horizon = 50 | horizon = 50 | only for kind = "simulate"
max_rounds = 50 => checkpoints = [5] | checkpoints = [5] | only for kind = "simulate"
max_rounds = 50 => max_rounds = 0 | max_rounds = 0 | an integer in [1, 1000000000000000]
= 50 => = 3000000000 | max_rounds = 3000000000 | [1, 2147483519] for single pulls
max_rounds => max_round | max_round: unknown key | did you mean 'max_rounds'
"m_lingape" => "ucb1" | type = "ucb1" | is for kind = "simulate"
m = 2 => m = 3 | algorithm[0].m = 3 | an integer in [1, 2]
m = 2 => m = 0 | algorithm[0].m = 0 | an integer in [1, 2]
delta = 0.05 => delta = 2 | algorithm[0].delta = 2 | a number in (0, 1)
delta = 0.05 => delta = 0 | algorithm[0].delta = 0 | a number in (0, 1)
= 0.05 => = {sweep = [0.1, 1]} | algorithm[0].delta.sweep[1] = 1 | a number in (0, 1)
epsilon = 0.1 => epsilon = -0.1 | algorithm[0].epsilon = -0.1 | a number in [0
epsilon = 0.1 => sigma = 0 | algorithm[0].sigma = 0 | a number in (0
"optimized" => "optimised" | algorithm[0].rule = "optimised" | did you mean 'optimized'
"m_lingape" => "m_lingap" | type = "m_lingap" | did you mean 'm_lingape'
m = 2 => theta = [0.5, 1] | algorithm[0].theta = [0.5, 1] | leave it out
[0.0, 1.0], => [0.0, nan], | instance[0].features[1][1] = nan | a finite number
[0.0, 1.0], => [0.0], | instance[0].features[1] = [0.0] | of shape (2,)
[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] => [1.0, 0.0] | features has shape (2,) | 2 axes
[0.0, 1.0], => [2.0, 0.0], | features span 1 of 2 | rule = 'optimized'
theta = [0.5, 1.0] => theta = [0.5] | theta has 1 entries | must have 2
m = 2 => features = [[1], [2]] | features has 2 rows | one per arm of instance l
"""
BAD_CONTEXTUAL = r"""
[0, 1]], [[1, 0], [0.5, 0.5] => [2, 0]], [[3, 0], [0.5, 0] | algorithm[0].features span 1 of 2 | must together span
[1, 0], [0, 1]], [[1, 0], [0.5, 0.5] => [1, 0]], [[0, 1] | instance[0].action_sets has one arm per | at least 2
"oam" => "oam"\nfeatures = [[1, 0], [0, 1]] | algorithm[0].features has 2 rows, must have 2 x 2 | one per context and
"oam" => "oam"\nfeatures = [[[1, 0], [0, 1]]] | features has 1 x 2 rows, must have 2 x 2 | one per context and arm
[0.3, 0.7] => [0.3, 0.5] | instance[0].probabilities sum to 0.8 | must sum to 1
[0.3, 0.7] => [-0.3, 1.3] | instance[0].probabilities[0] = -0.3 | must be in [0
[0.5, 0.5] => [0.5, nan] | instance[0].action_sets[1][1][1] = nan | a finite number
[1.0, 0.0]\n => [nan, 0.0]\n | instance[0].theta[0] = nan | a finite number
[0.3, 0.7] => [nan, 0.7] | instance[0].probabilities[0] = nan | a finite number
horizon = 50 => horizon = 1 | algorithm[0].horizon = 1 | an integer >= 2
"""
LONG = {  # the same, with the file, of what is too long for a line
    "no algorithm": (
        GOOD,
        GOOD[GOOD.index("[[algorithm]]") :],
        "",
        "algorithm: missing",
        "or more [[algorithm]] tables",
    ),
    "a mean of 401 digits": (GOOD, "0.9]", f"1{'0' * 400}]", "instance[0].means[1] = ", "a finite number"),
    "5,000 digits": (GOOD, "runs = 4", f"runs = 1{'0' * 5000}", "not valid TOML", "thousands of digits"),
    "9,000 hexadecimal digits": (GOOD, "= 4", f"= 0x{'f' * 9000}", "integer of 36000 bits", "an integer in"),
    "lists in lists": (GOOD, "runs = 4", f"runs = {'[' * 5000}{']' * 5000}", "not valid TOML", "nested too deep"),
    "a name of 300 characters": (GOOD, '"good"', f'"{"x" * 300}"', "name = ", "at most 100 bytes"),
    "a name of an instance": (GOOD, '"b"', f'"{"é" * 60}"', "instance[0].name = ", "at most 100 bytes"),
    "float32 that is not verified": (
        STOPPING,
        STOPPING[STOPPING.index("max_rounds") :],
        'precision = "float32"\n[[instance]]\ntype = "soare"\ndim = 2\nangle = 0.5\n[[algorithm]]\ntype = "rage"\n',
        'rage cannot verify runs of precision = "float32"',
        'must be "float64"',
    ),
    "k of too few arms": (
        STOPPING,
        STOPPING[STOPPING.index('type = "linear"') :],
        'type = "full_bandit"\nmeans = [0.1, 0.9]\nk = 1\n[[algorithm]]\ntype = "saqm"\n',
        "algorithm[0].k = 1",
        "at least 2, and here at most 1: the problem is too small",
    ),
    "no features": (
        STOPPING,
        STOPPING[STOPPING.index('type = "linear"') : STOPPING.index("\n\n[[algorithm]]")],
        'type = "gaussian"\nmeans = [1, 2, 3]',
        "algorithm[0].features: missing",
        "instance l (gaussian) does not give it",
    ),
    "an oracle without truth": (
        STOPPING,
        STOPPING[STOPPING.index('type = "m_lingape"') :],
        'type = "xy_oracle"\n\n[[instance]]\ntype = "gaussian"\nmeans = [1, 2]\n',
        "missing, xy_oracle needs it",
        "instance gaussian (gaussian) does not give it",
    ),
}


def cases():
    """The file, what is replaced in it and by what, and what the refusal must hold, for each case."""
    for good, table in ((GOOD, BAD_GOOD), (STOPPING, BAD_STOPPING), (CONTEXTUAL, BAD_CONTEXTUAL)):
        for line in table.strip().splitlines():
            change, *words = line.split("|")
            old, new = change.split("=>")
            old, new, *words = (x.strip().replace(r"\n", "\n") for x in (old, new, *words))
            yield pytest.param(good, old, new, words, id=change.strip())
    for name, (good, old, new, *words) in LONG.items():
        yield pytest.param(good, old, new, words, id=name)


BAD_ARGUMENTS = {
    "set an unknown key": (["--set", "rums=3"], "rums", "did you mean 'runs'"),
    "set without a value": (["--set", "runs"], "--set runs", "must be key=value"),
    "set what is not TOML": (["--set", "runs=[1"], "--set runs=[1", "write for instance"),
    "set out of range": (["--set", "runs=0"], "runs = 0", "an integer in [1, "),
    "set an unknown algorithm": (["--set", "algorithm.boots.c=1"], "no algorithm 'boots'", "did you mean 'boost'"),
    "set a number too high": (["--set", "algorithm.2.c=1"], "no algorithm '2'", "must be one of kl, boost"),
    "set no key of it": (["--set", "algorithm.kl=1"], "--set algorithm.kl=1", "algorithm.kl.key=value"),
    "set no name": (["--set", "algorithm=1"], "--set algorithm=1", "algorithm.NAME.key=value"),
    "runs of 0": (["--runs", "0"], "runs = 0", "an integer in [1, "),
    "more runs than memory holds": (
        ["--runs", "2147483647", "--horizon", "100000000"],
        "good: runs = 2147483647: what is kept of each run takes about",
        "per_run = false",
    ),
    "a horizon of 0": (["--horizon", "0"], "horizon = 0", "an integer in [1, "),
    "a negative seed": (["--seed", "-1"], "seed = -1", "an integer in [0, "),
    "unknown option": (["--jso"], "--jso", "perhaps you meant --json"),
    "option without its value": (["--set"], "--set", "--help"),
}


def refused(capsys, argv, *words):
    """Run the command line and check that it refuses in one line that holds the words."""
    status = cli.main(argv)
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.endswith("\n") and captured.err.count("\n") == 1, captured.err
    for word in words:
        assert word in captured.err
    assert not set("╭│─") & set(captured.err)
    assert "Traceback" not in captured.err


@pytest.fixture(autouse=True)
def _no_compute(monkeypatch):
    from jaxbandit.lab.experiments import playing as running

    def never(*args, **kwargs):
        raise AssertionError("a simulation began")

    monkeypatch.setattr(running, "simulate_cell", never)
    monkeypatch.setattr(running, "identify_cell", never)


def argv_of(tmp_path, text, *more):
    """The command that plays a file of this text."""
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    return ["run", str(file), "--out", str(tmp_path / "out"), *more]


@pytest.mark.parametrize(("good", "old", "new", "words"), list(cases()))
def test_bad_file(good, old, new, words, tmp_path, capsys):
    assert good.count(old) >= 1
    refused(capsys, argv_of(tmp_path, good.replace(old, new, 1)), "bad.toml", *words)
    assert os.listdir(tmp_path) == ["bad.toml"]


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_argument(case, tmp_path, capsys):
    argv, key, remedy = BAD_ARGUMENTS[case]
    refused(capsys, argv_of(tmp_path, GOOD, *argv), key, remedy)
    assert os.listdir(tmp_path) == ["bad.toml"]


@pytest.mark.parametrize("good", [GOOD, STOPPING, CONTEXTUAL], ids=["simulate", "identify", "contextual"])
def test_the_good_file_is_good(good, tmp_path):
    with pytest.raises(AssertionError, match="a simulation began"):  # the second has an arm twice, which is allowed
        cli.main(argv_of(tmp_path, good))


@pytest.mark.parametrize(
    "text, place, remedy",
    [
        ("a,b\n1,2\n3\n", "line 3: has 1 cells", "must have 2"),
        ("a,b\n1,2\n3,x\n", 'line 3, column 2 is "x"', "must be a finite number"),
        ("a,b\n1,2\n3,nan\n", "line 3, column 2", "must be a finite number"),
        ("a,b\n", "contains no numbers", "give a CSV file of numbers"),
        ("", "contains no numbers", "give a CSV file of numbers"),
    ],
)
def test_bad_csv(text, place, remedy, tmp_path, capsys):
    (tmp_path / "rewards.csv").write_text(text, encoding="utf-8")
    argv = argv_of(tmp_path, GOOD.replace('"bernoulli"\nmeans = [0.1, 0.9]', '"table"\nrewards = "rewards.csv"'))
    refused(capsys, argv, "bad.toml", "instance[0].rewards", "rewards.csv", place, remedy)


@pytest.mark.parametrize(
    "argv, words",
    [
        (["run", "no.toml"], ("no.toml", "cannot be read", "give a TOML file")),
        (["run", "croud"], ("croud", "did you mean 'crowd'")),
        (["run", "."], ("cannot be read (Is a directory)", "give a TOML file")),
        (["runn"], ("runn", "list, show, new, run, reproduce, audit, compare, report")),
        (["plot"], ("plot", "DIR")),
        (["plot", "nowhere"], ("nowhere", "no results")),
        (["compare", "nowhere", "elsewhere"], ("nowhere", "no directory of results")),
        (["reproduce", "ucbost"], ("ucbost", "did you mean 'ucboost'")),
        (["reproduce", "ucboost", "--runs", "0"], ("runs = 0", "an integer in [1, ")),
        (["reproduce", "ucboost", "--runs", "many"], ("--runs", "many", "--help")),
        (["runn"], ("did you mean 'run'?",)),
        (["list", "--knid", "x"], ("--knid", "perhaps you meant --kind")),
        (["run", "two.toml", "--run", "9"], ("--run", "perhaps you meant --runs N;")),
        (["list", "--kind", "regret"], ("'regret'", "one of environment, experiment, identify, simulate, wrapper;")),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("columns", [80, 40])
def test_bad_command(argv, words, columns, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))
    refused(capsys, argv, *words)
    assert os.listdir(tmp_path) == []


def test_not_utf8(tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_bytes(GOOD.encode() + b"# \xff\n")
    refused(capsys, ["run", str(file), "--out", str(tmp_path / "out")], "bad.toml", "is not text in UTF-8")


@pytest.mark.parametrize("name", ["spec.toml", ".hidden", "other.txt"])
def test_directory_of_something_else(name, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("runs = ", encoding="utf-8")
    refused(capsys, argv_of(tmp_path, GOOD), str(out), name, "give another directory")
    assert os.listdir(out) == [name]


def test_out_that_is_a_file_or_cannot_be_made(tmp_path, capsys):
    file = tmp_path / "good.toml"
    file.write_text(GOOD, encoding="utf-8")
    refused(capsys, ["run", str(file), "--out", str(file)], str(file), "must be a directory")
    refused(capsys, ["run", str(file), "--out", str(file / "x")], "good.toml", "give another --out")
    if os.geteuid() and Path("/proc/version").exists():
        refused(capsys, ["run", str(file), "--out", "/proc/out"], "/proc/out", "give another --out")
