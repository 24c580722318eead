"""The click log's reader against made logs of its grammar, each kind of dirt, and the instance that is made of it."""

import gzip
import itertools
import re

import jax
import numpy as np
import pytest

from jaxbandit.environments.recorded.r6a import r6a, read_click_log, ridge
from jaxbandit.environments.recorded.r6a_like import choose

pytestmark = pytest.mark.quickly_compiled

ORDER = (2, 3, 4, 5, 6, 1)  # of the features on a line: the constant comes last
COUNTED = ("read", "kept", "bad_width", "bad_token", "displayed_not_in_pool", "windows_line_ends")


def mixture(rng):
    """Features 1 to 6 as the log prints them: the constant 1, and five that add up to 1."""
    return [1.0, *np.round(rng.dirichlet(np.ones(5)), 6)]


def made_log(num_visits, seed=0, order=ORDER):
    """Lines without their ends, and what they say: (timestamp, displayed, click, user, article) a line."""
    rng = np.random.default_rng(seed)
    articles = {int(identity): mixture(rng) for identity in 109_000 + rng.permutation(600)[:40]}

    def features(values):
        return " ".join(f"{fid}:{values[fid - 1]:.6f}" for fid in order)

    lines, truth = [], []
    for i in range(num_visits):
        pool = rng.choice(list(articles), rng.integers(1, 26), replace=False)
        displayed, user = int(rng.choice(pool)), mixture(rng)
        click = int(rng.random() < 0.5 * user[1] * articles[displayed][2])
        parts = [f"{1241160900 + i} {displayed} {click} |user {features(user)}"]
        lines.append(" ".join(parts + [f"|{identity} {features(articles[identity])}" for identity in pool]))
        truth.append((1241160900 + i, displayed, click, user, articles[displayed]))
    return lines, truth


def write(path, lines, end="\n"):
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def assert_holds(log, truth):
    columns = [np.array(column) for column in zip(*truth, strict=True)]
    for got, expected in zip(log[:5], columns, strict=True):
        np.testing.assert_array_equal(got, expected)


def counts(**given):
    return dict.fromkeys(COUNTED, 0) | given


@pytest.mark.parametrize("order", [ORDER, (1, 2, 3, 4, 5, 6), (6, 1, 5, 2, 4, 3)])
def test_features_go_by_their_identifier(tmp_path, order):
    lines, truth = made_log(50, order=order)
    log = read_click_log(write(tmp_path / "clicks", lines))
    assert_holds(log, truth)
    assert log.counts == counts(read=50, kept=50)
    assert log.user.shape == log.article.shape == (50, 6) and log.click.dtype == bool
    assert log.timestamp.dtype == log.displayed.dtype == np.int64


def test_gz_windows_line_ends_and_no_last_line_end(tmp_path):
    lines, truth = made_log(30)
    packed = tmp_path / "clicks.gz"
    packed.write_bytes(gzip.compress("\r\n".join(lines).encode()))
    log = read_click_log(packed)
    assert_holds(log, truth)
    assert log.counts == counts(read=30, kept=30, windows_line_ends=29)


DIRT = {
    "token missing": (lambda s: s.rpartition(" ")[0], "bad_width"),
    "token too many": (lambda s: s + " 1:1.000000", "bad_width"),
    "cut short": (lambda s: s[:40], "bad_width"),
    "blank line": (lambda s: "", "bad_width"),
    "timestamp": (lambda s: "yesterday" + s[10:], "bad_token"),
    "timestamp beyond 64 bits": (lambda s: "9" * 30 + s[10:], "bad_token"),
    "displayed": (lambda s: re.sub(r"^(\S+) \S+", r"\1 10a", s), "bad_token"),
    "displayed with underscore": (lambda s: re.sub(r"^(\S+) \S+", r"\1 109_498", s), "bad_token"),
    "click": (lambda s: re.sub(r"^(\S+ \S+) \d", r"\1 2", s), "bad_token"),
    "user's name": (lambda s: s.replace("|user", "|usr"), "bad_token"),
    "article's bar": (lambda s: re.sub(r" \|1", " 1", s, count=1), "bad_token"),
    "article's name": (lambda s: re.sub(r" \|1", " |x", s, count=1), "bad_token"),
    "no colon": (lambda s: s.replace("4:", "4", 1), "bad_token"),
    "value": (lambda s: re.sub(r"4:\S+", "4:zero", s, count=1), "bad_token"),
    "value with underscore": (lambda s: re.sub(r"4:0.", "4:0.1_", s, count=1), "bad_token"),
    "empty value": (lambda s: re.sub(r"4:\S+", "4:", s, count=1), "bad_token"),
    "NaN": (lambda s: re.sub(r"4:\S+", "4:nan", s, count=1), "bad_token"),
    "infinite, in an article not shown": (lambda s: re.sub(r"4:(?!.* 4:)\S+", "4:inf", s), "bad_token"),
    "feature 7": (lambda s: s.replace("4:", "7:", 1), "bad_token"),
    "feature twice": (lambda s: s.replace("4:", "3:", 1), "bad_token"),
    "not UTF-8": (lambda s: s.replace("4:", "\x80:", 1), "bad_token"),
    "displayed not in the pool": (lambda s: re.sub(r"^(\S+) \S+", r"\1 1", s), "displayed_not_in_pool"),
    "no pool": (lambda s: " ".join(s.split()[:10]), "displayed_not_in_pool"),
}


@pytest.mark.parametrize("kind", DIRT)
def test_dirt_is_left_out_and_counted(tmp_path, kind):
    spoil, where = DIRT[kind]
    lines, truth = made_log(12)
    spoilt = [spoil(line) if i in (0, 5, 11) else line for i, line in enumerate(lines)]
    path = tmp_path / "clicks"
    path.write_bytes("".join(line + "\n" for line in spoilt).encode("latin-1"))
    log = read_click_log(path)
    assert_holds(log, [visit for i, visit in enumerate(truth) if i not in (0, 5, 11)])
    assert log.counts == counts(read=12, kept=9) | {where: 3}


def test_a_row_counts_once(tmp_path):
    lines, _ = made_log(40)
    spoils = itertools.cycle([None, *(spoil for spoil, _ in DIRT.values())])
    lines = [spoil(line) if spoil else line for line, spoil in zip(lines, spoils, strict=False)]
    log = read_click_log(write(tmp_path / "clicks", lines, "\r\n"))
    total = sum(log.counts[name] for name in COUNTED[1:5])
    assert log.counts["read"] == log.counts["windows_line_ends"] == total == 40


def unreadable(folder):
    whole = "\n".join(made_log(200)[0]).encode()
    packed = gzip.compress(whole)
    damaged = packed[:10] + b"\x07" + packed[11:]  # after the header, a kind of block that there is not
    contents = {
        "truncated.gz": packed[: len(packed) // 2],
        "damaged.gz": damaged,
        "plain.gz": whole,
        "empty": b"",
        "empty.gz": b"",
        "binary": bytes(range(256)) * 10,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()


UNREADABLE = {
    "truncated.gz": ", must be a click log that can be read (Compressed file ended",
    "damaged.gz": ", must be a click log that can be read (Error -3 while decompressing data: invalid block type)",
    "plain.gz": ", must be a click log that can be read (Not a gzipped file",
    "empty": ", must contain visits; it contains none (no line at all)",
    "empty.gz": ", must contain visits; it contains none (no line at all)",
    "binary": ", must contain visits; it contains none (read 11, bad_width 11)",
    "folder": ": cannot be read (Is a directory)",
    "missing": ": cannot be read (No such file or directory)",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files_are_refused_in_one_line(tmp_path, name):
    unreadable(tmp_path)
    for read in (read_click_log, lambda path: r6a(str(path), 2)):
        with pytest.raises(ValueError) as refusal:
            read(tmp_path / name)
        message = str(refusal.value)
        assert message.startswith(f"r6a: path = {str(tmp_path / name)!r}{UNREADABLE[name]}")
        assert "\n" not in message


@pytest.mark.slow
def test_ridge_is_the_penalised_least_squares_fit():
    rng = np.random.default_rng(0)
    user, article = rng.standard_normal((2, 70_000, 6))  # more than one batch
    reward = rng.choice([-1.0, 1.0], 70_000)
    x = np.stack([np.kron(u, a) for u, a in zip(user[:200], article[:200], strict=True)])
    augmented = np.concatenate([x, np.sqrt(0.5) * np.eye(36)])
    expected = np.linalg.lstsq(augmented, np.concatenate([reward[:200], np.zeros(36)]), rcond=None)[0]
    np.testing.assert_allclose(ridge(user[:200], article[:200], reward[:200], 0.5), expected, rtol=1e-9)
    theta = ridge(user, article, reward, 0.5)
    residual = reward - np.einsum("ni,nj,ij->n", user, article, theta.reshape(6, 6))
    gradient = np.einsum("ni,nj,n->ij", user, article, residual).ravel() - 0.5 * theta
    assert np.abs(gradient).max() < 1e-8  # sums of 70,000 terms of order 1: rounding gives some 1e-11


def test_chosen_arms():
    means = np.random.default_rng(0).uniform(-1, 1, 500)
    seen, places = set(), set()
    for seed in range(50):
        arms = choose(means, 7, 0.1, np.random.default_rng(seed))
        assert len(set(arms)) == 7
        ranked = np.sort(means[arms])
        assert ranked[-1] - ranked[-2] >= 0.1
        seen.add(means[arms].max())
        places.add(int(np.argmax(means[arms])))
    assert len(seen) > 20 and len(places) == 7
    with pytest.raises(ValueError, match=r"^num_arms = 3, must be at most 1: none of 3 pairs"):
        choose(np.array([0.5, 0.45, 0.5]), 3, 0.1, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^num_arms = 2, must be at most 1: none of 0 pairs"):
        choose(np.empty(0), 2, 0.1, np.random.default_rng(0))


@pytest.mark.slow
def test_instance_of_a_log(tmp_path):
    lines, truth = made_log(3000, seed=1)
    path = str(write(tmp_path / "clicks", [*lines, "dirt"]))
    with pytest.warns(UserWarning, match="3000 of 3001 lines kept \\(bad_width 1\\)"):
        instance = r6a(path, 5, instance_seed=2)
        known = instance.known() | instance.truth.parameters()
    user, article = (np.array([visit[i] for visit in truth]) for i in (3, 4))
    clicks = np.array([2.0 * visit[2] - 1 for visit in truth])
    pairs = np.einsum("ni,nj->nij", user, article).reshape(-1, 36)
    normal = pairs.T @ pairs + 0.01 * np.eye(36)
    # The normal equations' condition is 1e5 or so: 1e-16 becomes 1e-11.
    np.testing.assert_allclose(normal @ known["theta"], pairs.T @ clicks, rtol=1e-9, atol=1e-9)
    assert all((pairs == arm).all(axis=1).any() for arm in known["features"])
    assert np.abs(pairs @ known["theta"]).max() > 1  # such visits are there, and are not drawn
    assert known["sigma"] == 2.0 and known["features"].shape == (5, 36)
    with jax.enable_x64(True):
        environment = r6a(path, 5, instance_seed=2)  # read once: no second warning
        state = environment.init(jax.random.key(0))
        np.testing.assert_allclose(state.means, known["features"] @ known["theta"], rtol=1e-12)
        assert np.abs(state.means).max() <= 1
        assert np.sort(state.gaps)[1] >= 0.05
        assert float(environment.reward(state, None, 0, environment.noise(jax.random.key(1)))) in (-1.0, 1.0)
    other = r6a(path, 5, instance_seed=3).known()
    assert not np.array_equal(other["features"], known["features"])
    write(tmp_path / "clicks", lines[:2000])  # a file that has changed is read again
    assert not np.array_equal(r6a(path, 5, instance_seed=2).truth.parameters()["theta"], known["theta"])


REFUSALS = {
    "num_arms": (lambda p: r6a(p, 1), "r6a: num_arms = 1, must be an integer >= 2"),
    "too many arms": (lambda p: r6a(p, 600, min_gap=0.2), "r6a: num_arms = 600, must be at most "),
    "seed": (lambda p: r6a(p, 2, instance_seed=-1), "r6a: instance_seed = -1, must be an integer >= 0"),
    "min_gap": (lambda p: r6a(p, 2, min_gap=1.0), "r6a: min_gap = 1.0, must be a number in (0, 1)"),
    "penalty": (lambda p: r6a(p, 2, penalty=0.0), "r6a: penalty = 0.0, must be a number in (0, inf)"),
    "sigma": (lambda p: r6a(p, 2, sigma=0.5), "r6a: sigma = 0.5, must be a number in [1, inf)"),
    "path": (lambda p: r6a(3, 2), "r6a: path = 3, must be the name of a click log"),  # type: ignore
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(tmp_path, case):
    make, message = REFUSALS[case]
    path = str(write(tmp_path / "clicks", made_log(500)[0]))
    with pytest.raises(ValueError) as refusal:
        make(path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
