"""Papers of rules for arms that do not change: their claims name cells and fit the printed numbers and bounds."""

import itertools
import math

import pytest
from results_by_hand import noisy

from jaxbandit.lab.papers import own_instances, paper, verdict
from jaxbandit.running.results.base import ResultSet

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

PAPERS = ("sda", "kl_ucb_plus_plus", "kl_ms")


def read(name):
    data, about, source = paper._read(name)
    about["published"] = own_instances.one_each(about["published"])
    return data, about, source


def test_claims_about_duels_agree_with_the_printed_means_and_not_with_reversed_ones():
    """The text and the tables of one paper fit each other, with the factors and margins that were chosen."""
    _, about, _ = read("sda")
    printed = {(e["instance"], e["algorithm"]): e["value"] for e in about["published"]}

    def judged(means):
        cells = (noisy(1000 * m, seed=i, algorithm=a, instance=w) for i, ((w, a), m) in enumerate(means.items()))
        return {c["id"]: c["verdict"] for c in verdict.judge(about["claim"], ResultSet("sda", tuple(cells)))}

    assert set(judged(printed).values()) == {"agrees"}
    backward = {(w, a): (max(v for (i, _), v in printed.items() if i == w) / m) ** 12 for (w, a), m in printed.items()}
    not_reversed = {"2.1", "4.2", "5.2"}  # what these praise is printed as slightly worse
    judged_backward = judged(backward)
    assert {c for c, v in judged_backward.items() if v == "agrees"} == not_reversed
    assert {v for c, v in judged_backward.items() if c not in not_reversed} == {"disagrees"}


def kl(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def test_bounds_of_kl_ucb_plus_plus_are_those_of_the_theorems():
    data, about, _ = read("kl_ucb_plus_plus")
    claims = {claim["id"]: claim for claim in about["claim"]}
    rounds, best, other, variance = about["figures"]["far"]["horizon"], 0.9, 0.1, 0.25
    for number, arms in enumerate((2, 10), 1):
        minimax = 76 * math.sqrt(variance * arms * rounds) + arms
        assert claims[f"1.{number}"]["value"] == pytest.approx(minimax, rel=1e-5)
        assert minimax < rounds * (best - other) * (1 - 1 / arms)  # uniformly random arms violate it
        delta = (best - other) / 3
        assert math.sqrt(22 * variance * arms / rounds) <= delta  # the smallest delta that the theorem allows
        least = kl(other + delta, best - delta)
        pulls = (math.log(rounds) + math.log((1 + math.log(rounds / arms) ** 2) / arms)) / least
        pulls += (16 * math.e**2 + 2) * 2 * variance * arms / delta**2 + 1
        assert claims[f"2.{number}"]["value"] == math.floor(pulls) < rounds / arms
    assert claims["1.3"]["value"] == claims["1.1"]["value"]
    means = {table["name"]: table["means"] for table in data["instance"] if "means" in table}
    assert means["far-2"] == [best, other] and means["far-10"] == [best, *9 * [other]]
    for arms, (name, factor) in itertools.product((2, 10), (("critical", 1), ("double", 2))):
        gap = factor * math.sqrt(arms / data["horizon"])
        assert means[f"{name}-{arms}"] == pytest.approx([0.5 + gap, *(arms - 1) * [0.5]], abs=1e-9)


def test_the_published_regret_of_kl_ms_is_that_of_rewards_without_noise():
    """The expected pulls N of the worse arm obey N' = 1 / (1 + exp(d N)), so that d N + exp(d N) = 1 + d T."""
    data, about, _ = read("kl_ms")
    [low, high] = next(table["rewards"] for table in data["instance"] if table["name"] == "constant-0.8-0.9")[0]
    divergences = {"kl_ms": kl(low, high), "ms": (high - low) ** 2 / (2 * 0.25)}
    for entry in about["published"]:
        d, pulls = divergences[entry["algorithm"]], 0.0
        for _ in range(100):  # a fixed point
            pulls = math.log(1 + d * data["horizon"] - d * pulls) / d
        assert entry["value"] == pytest.approx((high - low) * pulls, abs=0.25)
