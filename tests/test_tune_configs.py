"""Search spaces: grids and draws, what is static, and configurations that are refused."""

import jax
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

BAD_CONFIGS = {
    "empty": ({}, "configs has no columns"),
    "none": ({"x": np.zeros(0)}, "configs is empty"),
    "lengths": ({"x": np.zeros(3), "y": np.ones(2)}, "columns of different lengths (x has 3, y has 2)"),
    "one": ({"x": np.zeros(1)}, "configs holds 1 configuration"),
    "no axis": ({"x": 0.1}, "x = 0.1 has no leading axis"),
    "list": ({"x": [1.0, 2.0]}, "x is a list"),
    "equal": ({"x": np.array([1.0, 2.0, 1.0])}, "configs 0 and 2 are equal (x = 1)"),
    "not finite": ({"x": np.array([1.0, np.inf])}, "x[1] = inf, must be finite"),
    "too large": ({"x": np.array([1, 2**40])}, "x holds 1099511627776, must be at most 2147483647"),
    "no content": ({"x": np.array([[iter(())], [iter("a")]], object)}, "x has shape (2, 1), a static column must have"),
    "no dictionary": ([{"x": 1}, 3], "configs[1] is a int, must be a dictionary like the others"),
    "no name": ([{"x": 1}, {}], "configs[1] = {}, must be a dictionary with strings as keys"),
    "number as name": ([{"x": 1}, {1: 2}], "configs[1] = {1: 2}, must be a dictionary with strings as keys"),
    "equal dictionaries": ([{"x": 1, "y": [2]}, {"y": [2], "x": 1}], "configs 0 and 1 are equal (x = 1, y = [2])"),
}


@pytest.mark.parametrize("case", BAD_CONFIGS)
def test_bad_configs_are_refused_in_one_line(case):
    configs, words = BAD_CONFIGS[case]
    with pytest.raises(BadInput) as error:
        jb.tune(lambda key, config: jax.random.normal(key) + config["x"], configs, goal=0.1)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (lambda: jb.space.grid(), "grid: no hyperparameter"),
        (lambda: jb.space.grid(x=[]), "x has no values"),
        (lambda: jb.space.grid(x=0.1), "x = 0.1, must be a list"),
        (lambda: jb.space.grid(x=[[1], [1, 2]]), "must be values of one shape, or jb.space.static"),
        (
            lambda: jb.space.random_configs(jax.random.key(0), 0, x=jb.space.loguniform(1, 2)),
            "n = 0, must be an integer >= 1",
        ),
        (lambda: jb.space.random_configs(jax.random.key(0), 2, x=[1, 2]), "x = [1, 2], must be loguniform"),
        (lambda: jb.space.loguniform(0, 1), "low = 0, must be a number in (0"),
        (lambda: jb.space.uniform_int(3, 2), "high = 2"),
    ],
)
def test_bad_search_spaces_are_refused(space, words):
    with pytest.raises(ValueError) as error:
        space()
    assert words in str(error.value)


def test_grids_and_draws():
    grid = jb.space.grid(x=[1, 2], y=["a", "b", "c"])
    assert list(zip(grid["x"].tolist(), grid["y"].tolist(), strict=True))[:4] == [
        (1, "a"),
        (1, "b"),
        (1, "c"),
        (2, "a"),
    ]
    key, laws = (
        jax.random.key(0),
        {"lr": jb.space.loguniform(1e-4, 1), "n": jb.space.uniform_int(2, 4), "u": jb.space.uniform(-1, 1)},
    )
    drawn = jb.space.random_configs(key, 4000, **laws)
    more = jb.space.random_configs(key, 4000, **laws, w=jb.space.choice(jb.space.static([8, 16])))
    for name, column in drawn.items():
        np.testing.assert_array_equal(column, more[name])
    assert set(more["w"]) == {8, 16} and more["w"].dtype == object
    # Means of 4,000 draws within four standard deviations: a false alarm in some 5,000 seeds.
    assert abs(np.log10(drawn["lr"]).mean() + 2) < 4 * 4 / np.sqrt(12 * 4000)
    assert abs(drawn["u"].mean()) < 4 * 2 / np.sqrt(12 * 4000)
    counts = np.bincount(drawn["n"], minlength=5)
    assert counts[:2].sum() == 0 and (abs(counts[2:] - 4000 / 3) < 4 * np.sqrt(4000 * 2 / 9)).all()


def test_a_long_configuration_shows_every_name_in_one_line():
    space = search_space.read([{"prompt": "Answer.\n" * 300, "context": "x" * 900, "model": "small"}])
    text = space.text(0)
    assert len(text) <= 400 and "\n" not in text and text.count("...") == 2
    assert text.startswith("prompt = Answer. Answer.") and ", context = xxx" in text and text.endswith("model = small")
    many = search_space.read([{f"name{i}": "x" * 90 for i in range(50)}]).text(0)
    assert len(many) == 400 and many.endswith("...")
