"""scikit-learn's own tests of `GridSearchCV` and `RandomizedSearchCV`, with our searches in their places.

`sklearn_interface.toml` lists those that fail, and why. A test that is not listed has to pass, and one that is listed
has to fail. Tests that use neither of the two classes are left out.
"""

import importlib
import inspect
import sys
import tomllib
from pathlib import Path

import pytest
import sklearn.model_selection as places

from jaxbandit.decide.integrations.sklearn import BanditRandomizedSearchCV, BanditSearchCV

THEIRS = "sklearn.model_selection.tests.test_search"
LISTED = tomllib.loads(Path(__file__).with_suffix("").with_name("sklearn_interface.toml").read_text())
REASONS, NOT_RUN = LISTED["fails"], LISTED["not_run"]


def with_ours():
    """Import scikit-learn's tests with our classes under the names of scikit-learn's."""
    ours = {"GridSearchCV": BanditSearchCV, "RandomizedSearchCV": BanditRandomizedSearchCV}
    earlier, loaded = {name: getattr(places, name) for name in ours}, sys.modules.pop(THEIRS, None)
    try:
        for name, search in ours.items():
            setattr(places, name, search)
        return importlib.import_module(THEIRS)
    finally:
        sys.modules.pop(THEIRS, None)
        if loaded is not None:
            sys.modules[THEIRS] = loaded
        for name, search in earlier.items():
            setattr(places, name, search)


def plain(mark):
    """A mark without iterators, which pytest no longer accepts."""
    if mark.name != "parametrize":
        return mark
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), *mark.args[2:], **mark.kwargs).mark


pytestmark = pytest.mark.filterwarnings("default")
pytest.importorskip(THEIRS)
MODULE = with_ours()
for name, function in vars(MODULE).items():
    if name.startswith("test_") and "Search" in inspect.getsource(function) and name not in NOT_RUN:
        function.pytestmark = [plain(mark) for mark in getattr(function, "pytestmark", [])]
        globals()[name] = function
