"""scikit-learn's own tests of `GridSearchCV` and `RandomizedSearchCV`, with our searches in their places.

Without `cv` they use five folds here, as scikit-learn's do. `sklearn_interface.toml` lists the tests that fail and why:
one that is not listed has to pass, and one that is listed has to fail. Tests that use no search are left out.
"""

import importlib
import inspect
import sys
import tomllib
from pathlib import Path

import pytest
import sklearn.model_selection as places

from jaxbandit.decide.integrations import sklearn as ours

THEIRS = "sklearn.model_selection.tests.test_search"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
LISTED = tomllib.loads(Path(__file__).with_name("sklearn_interface.toml").read_text())


def five_folds(search):
    """The search with 5 as the default of cv."""

    def init(self, *arguments, cv=5, **options):
        super(changed, self).__init__(*arguments, cv=cv, **options)

    signature = inspect.signature(search.__init__)
    folds = [one.replace(default=5) if name == "cv" else one for name, one in signature.parameters.items()]
    init.__signature__ = signature.replace(parameters=folds)
    changed = type(search.__name__, (search,), {"__init__": init, "__module__": __name__})
    return changed


BanditSearchCV, BanditRandomizedSearchCV = map(five_folds, (ours.BanditSearchCV, ours.BanditRandomizedSearchCV))


def with_ours():
    """Import scikit-learn's tests with our classes under the names of scikit-learn's."""
    pytest.importorskip(THEIRS)
    classes = {"GridSearchCV": BanditSearchCV, "RandomizedSearchCV": BanditRandomizedSearchCV}
    earlier = {name: getattr(places, name) for name in classes}
    try:
        for name, search in classes.items():
            setattr(places, name, search)
        del sys.modules[THEIRS]
        return importlib.import_module(THEIRS)
    finally:
        for name, search in earlier.items():
            setattr(places, name, search)


def marks(name, function):
    """The marks of a test, without cases of other searches and without iterators, and whether it has to fail."""
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            ours = [case for case in mark.args[1] if "Halving" not in repr(case)]
            mark = pytest.mark.parametrize(mark.args[0], ours, *mark.args[2:], **mark.kwargs).mark
        yield mark
    if name in LISTED:
        yield pytest.mark.xfail(reason=LISTED[name], strict=True).mark


for name, function in vars(with_ours()).items():
    if name.startswith("test_") and "SearchCV" in inspect.getsource(function):
        function.pytestmark = list(marks(name, function))
        globals()[name] = function


def test_every_listed_test_exists():
    assert LISTED.keys() <= globals().keys()
