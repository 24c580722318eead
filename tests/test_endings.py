"""A disk that is full is status 3, since the same command succeeds once there is room; settings of JAX are one line."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_trust_cli import environment, here  # noqa: F401  (a fixture)

from jaxbandit.lab import cli
from jaxbandit.support.refusals import BadInput, Unfinished, unwritable

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
COMMANDS = {
    "run": ["run", "s.toml", "--out", "new"],
    "run --part": ["run", "s.toml", "--out", "new", "--part", "0/1"],
    "tune": ["tune", "own:train", "t.toml", "--out", "new"],
    "ask": ["ask", "new", "e.toml"],
    "tell": ["tell", "d", "0=0.5"],
    "report": ["report", "r"],
    "plot": ["plot", "r"],
    "new": ["new", "new.toml"],
}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_status_3_and_the_same_command_succeeds_later(name, code, here, capsys, monkeypatch):  # noqa: F811
    argv = COMMANDS[name]
    if "d" in argv:
        assert cli.main(["ask", "d", "e.toml"]) == 0
    if "r" in argv:
        assert cli.main(["run", "s.toml", "--out", "r"]) == 0
    capsys.readouterr()

    def full(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        if name == "new":
            patched.setattr(Path, "open", full)
        status = cli.main(argv)
    err = capsys.readouterr().err.splitlines()
    assert status == 3 and os.strerror(code) in err[-1] and len(err) == 1, err
    assert "same command" in err[-1] or "run `jaxbandit plot" in err[-1]
    assert cli.main(argv) == 0


def test_what_cannot_be_written_for_another_reason_is_bad_input():
    with pytest.raises(BadInput, match=r"out: cannot be written \(Read-only file system\); give another --out"):
        unwritable("out", OSError(errno.EROFS, os.strerror(errno.EROFS)), "give another --out")
    with pytest.raises(Unfinished, match=r"out: cannot be written \(No space left on device\); make room"):
        unwritable("out", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "give another --out")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("JAX_PLATFORMS", "cuda", "JAX cannot start it here"),
        ("JAX_PLATFORMS", "nosuch", "JAX cannot start it here"),
        ("JAX_DISABLE_JIT", "1", "jaxbandit plays compiled programs only"),
        ("JAX_ENABLE_X64", "maybe", "invalid truth value 'maybe'"),
    ],
)
def test_a_setting_of_jax_that_prevents_every_run_is_one_line(name, value, said, here):  # noqa: F811
    done = subprocess.run(
        [sys.executable, "-m", "jaxbandit", "run", "s.toml", "--no-cache"],
        capture_output=True, text=True, timeout=120, env=environment(**{name: value}),
    )  # fmt: skip
    *others, line = done.stderr.splitlines()
    assert done.returncode == 2 and name in line and said in line
    assert all(": more than 2 s so far" in other for other in others)  # on a machine that is busy
    assert not list(Path().glob("*-result"))  # nothing was begun
