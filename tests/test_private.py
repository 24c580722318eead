"""What only this user could have written: each level above, each entry, links, and the caches that rely on it."""

import io
import os
import pickle
import stat
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxbandit.engine.layout import program_files
from jaxbandit.environments.recorded.hpo_table import recorded

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="the owners of files are those of POSIX")


@pytest.fixture
def home(own_program_files, tmp_path, monkeypatch):
    """A cache directory of one's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "b"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "a" / "b" / "jaxbandit"


def give_away(monkeypatch, path):
    """Let a file belong to another user; where the tests may not do that, let it appear so."""
    if os.getuid() == 0:
        os.chown(path, 12345, -1, follow_symlinks=False)
        return
    real = Path.lstat

    def lstat(self):
        status = list(real(self))
        if self == path:
            status[stat.ST_UID] = os.getuid() + 1
        return os.stat_result(status)

    monkeypatch.setattr(Path, "lstat", lstat)


CPU = jax.devices("cpu")[0]
LOWERED = jax.jit(lambda x: x + 1).lower(0)


def file_of_program():
    """The file in which a compiled program would be kept; None if none is kept."""
    program_files._private_directory.cache_clear()
    return program_files.path_of(LOWERED, {}, CPU)


def used():
    """Whether compiled programs are kept in files and read from them."""
    path = file_of_program()
    if path is None:
        return False
    program_files.write(path, LOWERED.compile())
    return program_files.read(path, LOWERED, CPU) is not None


LEVELS = ("a", "a/b", "a/b/jaxbandit", "leaf")


def level(home, name):
    leaf = home / program_files.processor()
    leaf.mkdir(parents=True, mode=0o700)
    for path in (home.parent.parent, home.parent, home):
        path.chmod(0o755)
    return leaf if name == "leaf" else home.parents[2] / name


@pytest.mark.parametrize("name", LEVELS)
def test_no_level_belongs_to_another_user(home, name, monkeypatch, capsys):
    path = level(home, name)
    assert used() and capsys.readouterr().err == ""
    give_away(monkeypatch, path)
    assert not used()
    said = capsys.readouterr().err
    assert said.startswith(f"jaxbandit: compiled programs are not cached, because {path} belongs to another user; ")
    assert said.count("\n") == 1 and "XDG_CACHE_HOME" in said


@pytest.mark.parametrize("mode", [0o777, 0o722, 0o702, 0o1777])
@pytest.mark.parametrize("name", LEVELS)
def test_nobody_else_may_write_a_level(home, name, mode, capsys):
    """Above the two directories of the cache the sticky bit helps."""
    path = level(home, name)
    path.chmod(mode)
    allowed = mode == 0o1777 and name in ("a", "a/b")
    assert used() == allowed
    said = capsys.readouterr().err
    assert said == "" if allowed else f"others may write {path} (mode {mode:04o})" in said and said.count("\n") == 1


def test_the_group_may_write_if_it_is_this_users_alone(home, monkeypatch, capsys):
    import grp
    import pwd

    path = level(home, "a/b")
    path.chmod(0o775)
    name = pwd.getpwuid(os.getuid()).pw_name
    for group, members, allowed in ((name, [], True), (name, [name], True), (name, ["eve"], False), ("all", [], False)):
        monkeypatch.setattr(grp, "getgrgid", lambda _, g=group, m=members: grp.struct_group((g, "x", 7, m)))
        assert used() == allowed, (group, members)
    monkeypatch.setattr(grp, "getgrgid", lambda _: {}[0])  # a group without a name
    assert not used()
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((name, "x", 7, [])))
    monkeypatch.setattr(os, "listxattr", lambda _: ["system.posix_acl_access"], raising=False)
    assert not used()  # the mode says nothing of the others on the list
    assert capsys.readouterr().err.count("(mode 0775)") == 4


@pytest.mark.parametrize("kind", ["of another user", "link to a file", "link to nothing", "directory", "fifo"])
def test_a_program_is_read_from_a_regular_file_of_ones_own(home, kind, tmp_path, monkeypatch):
    path = file_of_program()
    program_files.write(path, LOWERED.compile())
    assert program_files.read(path, LOWERED, CPU) is not None
    path.rename(tmp_path / "victim")
    content = (tmp_path / "victim").read_bytes()
    {
        "of another user": lambda: (path.write_bytes(content), give_away(monkeypatch, path)),
        "link to a file": lambda: path.symlink_to(tmp_path / "victim"),
        "link to nothing": lambda: path.symlink_to(tmp_path / "absent"),
        "directory": path.mkdir,
        "fifo": lambda: os.mkfifo(path),
    }[kind]()
    assert program_files.read(path, LOWERED, CPU) is None
    assert (tmp_path / "victim").read_bytes() == content and not (tmp_path / "absent").exists()


def test_a_link_of_ones_own_may_lead_there(home, tmp_path, monkeypatch, capsys):
    """What is used is the place that it leads to, so that changing the link later changes nothing."""
    (tmp_path / "far" / "away").mkdir(parents=True)
    home.parent.parent.mkdir()
    home.parent.symlink_to(tmp_path / "far" / "away")
    place = tmp_path / "far" / "away" / "jaxbandit" / program_files.processor()
    assert file_of_program().parent == place
    (tmp_path / "far").chmod(0o777)  # a level that only the resolved path has
    assert not used() and f"others may write {tmp_path / 'far'} " in capsys.readouterr().err
    (tmp_path / "far").chmod(0o755)
    (tmp_path / "a").chmod(0o777)  # where the link is
    assert not used()
    (tmp_path / "a").chmod(0o755)
    assert used()
    give_away(monkeypatch, home.parent)
    assert not used()


def test_new_levels_are_private_whatever_the_umask(home):
    before = os.umask(0)
    try:
        assert used()
    finally:
        os.umask(before)
    levels = (home.parent.parent, home.parent, home, home / program_files.processor())
    assert [stat.S_IMODE(path.stat().st_mode) for path in levels] == [0o700] * 4


@pytest.mark.parametrize("closed", ["none", "closed", "full"])
def test_a_closed_stderr_does_not_matter(home, closed, monkeypatch, capsys):
    level(home, "leaf").chmod(0o777)

    class Full(io.StringIO):
        def write(self, _):
            raise OSError(28, "No space left on device")

    stream = Full() if closed == "full" else io.StringIO()
    if closed == "closed":
        stream.close()
    monkeypatch.setattr(sys, "stderr", None if closed == "none" else stream)
    assert not used() and capsys.readouterr().out == ""


def test_recorded_scores_of_another_user_are_not_read(home, tmp_path, monkeypatch):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps({"1": {"val_acc": [0.25, 0.5]}}))
    recorded.cache_clear()
    assert recorded(path, "val_acc").tolist() == [[0.25], [0.5]]
    (stored,) = home.iterdir()
    np.savez(stored, scores=np.ones((2, 1)))
    recorded.cache_clear()
    assert recorded(path, "val_acc").tolist() == [[1.0], [1.0]]  # this user's own
    home.parent.chmod(0o777)
    recorded.cache_clear()
    assert recorded(path, "val_acc").tolist() == [[0.25], [0.5]] and list(home.iterdir()) == [stored]
    home.parent.chmod(0o755)
    give_away(monkeypatch, stored)
    recorded.cache_clear()
    assert recorded(path, "val_acc").tolist() == [[0.25], [0.5]]
    recorded.cache_clear()
