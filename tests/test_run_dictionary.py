"""`jb.run` of a dictionary: the same experiment as its TOML file, from dictionaries and lists of any kind."""

import tomllib
from collections import UserDict, UserList
from collections.abc import Mapping

import numpy as np
import pytest
from small_experiment import TWO, UCB1, content, written

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled
TOML = written("simulate", TWO, UCB1, name="one", runs=3, horizon=20)
GIVEN = tomllib.loads(TOML)


def foreign(value):
    """The same in classes that are neither dict nor list, such as OmegaConf's."""
    if isinstance(value, Mapping):
        return UserDict({key: foreign(item) for key, item in value.items()})
    return UserList(map(foreign, value)) if isinstance(value, list) else value


def test_a_dictionary_is_its_file(tmp_path):
    (tmp_path / "one.toml").write_text(TOML, encoding="utf-8")
    file = jb.run(tmp_path / "one.toml")
    array = foreign(GIVEN)
    array["instance"][0]["means"] = np.array([0.1, 0.9])
    for given in (GIVEN, foreign(GIVEN), array):
        results = jb.run(given)
        assert content(results) == content(file) and results.spec == file.spec
    assert tomllib.loads(TOML) == GIVEN  # what was given is not changed


def test_overrides_and_arguments_change_a_copy_and_a_directory_resumes(tmp_path):
    results = jb.run(GIVEN, tmp_path / "out", runs=2, overrides=["horizon=10"])
    assert results[0].runs == 2 and results[0].arrays["checkpoints"][-1] == 10
    assert GIVEN["runs"] == 3 and GIVEN["horizon"] == 20
    assert content(jb.run(GIVEN, tmp_path / "out", runs=2, overrides=["horizon=10"])) == content(results)


def test_an_unknown_key_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"experiment: .*horizont.*") as caught:
        jb.run({**GIVEN, "horizont": 5})
    assert "\n" not in str(caught.value)
