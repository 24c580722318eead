"""The first 40 arms of each baseline in worlds without chance, found by independent programs, in float64.

Rewards of arm a in round t come from frac(t sqrt q_a), the random numbers of a rule from other square roots.
"""

import numpy as np
import pytest
from player import play
from scipy import special
from tiers import a_few

import jaxbandit as jb
from jaxbandit.algorithms.regret.besa import BesaNoise

pytestmark = pytest.mark.quickly_compiled
MEANS, T = np.array([0.3, 0.5, 0.4, 0.6]), 40
ROUNDS = np.arange(1, T + 1)[:, None]
F = np.modf(ROUNDS * np.sqrt([2.0, 3, 5, 7]))[0]
U = np.modf(ROUNDS * np.sqrt([11.0, 13, 17, 19, 23, 29, 31, 37]))[0]
REWARDS = {
    "coin": (F < MEANS).astype(float),
    "real": MEANS + F - 0.5,
    "poisson": np.floor(5 * (MEANS + F - 0.5) + 3),
    "exponential": MEANS + F - 0.5 + 0.6,
}
NORMALS, GUMBELS = special.ndtri(U[:, :4]), -np.log(-np.log(U[:, :4]))
HALF = np.full(T, 0.5)  # the coin of a reward 0 or 1 may be any number
TWO = np.stack([U[:, 0], U[:, 1]], axis=1)
FIVE = np.concatenate([U[:, :4], HALF[:, None]], axis=1)
BESA = BesaNoise(U[:, :4], U[:, 4:7], HALF)
gaussian, poisson, exponential = ({"family": name} for name in ("gaussian", "poisson", "exponential"))

RULES = {  # name: rule, rewards, random numbers
    "fixed_arm": (jb.algorithms.fixed_arm(4, 2), "coin", None),
    "etc": (jb.algorithms.etc(4, 3), "coin", None),
    "etc_gap": (jb.algorithms.etc_gap(4, gap=0.6, horizon=40, sigma=0.5), "coin", None),
    "etc_sprt": (jb.algorithms.etc_sprt(4, gap=0.5, horizon=40, sigma=0.1**0.5), "coin", None),
    "etc_bai": (jb.algorithms.etc_bai(4, horizon=40, sigma=0.05**0.5), "coin", None),
    "epsilon_first": (jb.algorithms.epsilon_first(4, horizon=40, epsilon=0.3), "coin", TWO),
    "epsilon_decreasing": (jb.algorithms.epsilon_decreasing(4), "coin", TWO),
    "softmax": (jb.algorithms.softmax(4), "coin", GUMBELS),
    "softmax decreasing": (jb.algorithms.softmax(4, schedule="decreasing"), "coin", GUMBELS),
    "boltzmann_gumbel": (jb.algorithms.boltzmann_gumbel(4), "coin", GUMBELS),
    "ucb_tuned": (jb.algorithms.ucb_tuned(4), "coin", None),
    "ucb_alpha": (jb.algorithms.ucb_alpha(4), "coin", None),
    "kl_ucb_plus": (jb.algorithms.kl_ucb_plus(4), "coin", None),
    "kl_ucb_h_plus": (jb.algorithms.kl_ucb_plus(4, horizon=40), "coin", None),
    "kl_ucb_plus_plus": (jb.algorithms.kl_ucb_plus_plus(4, horizon=40), "coin", None),
    "kl_ucb_switch": (jb.algorithms.kl_ucb_switch(4, horizon=40), "coin", None),
    "kl_ucb_switch anytime": (jb.algorithms.kl_ucb_switch(4), "coin", None),
    "kl_ucb": (jb.algorithms.kl_ucb(4), "coin", None),
    "imed": (jb.algorithms.imed(4), "coin", None),
    "kl_ucb gaussian": (jb.algorithms.kl_ucb(4, **gaussian), "real", None),
    "kl_ucb poisson": (jb.algorithms.kl_ucb(4, **poisson), "poisson", None),
    "kl_ucb exponential": (jb.algorithms.kl_ucb(4, **exponential), "exponential", None),
    "thompson gaussian": (jb.algorithms.thompson(4, **gaussian, sigma=0.5), "coin", NORMALS),
    "thompson_gaussian_ag": (jb.algorithms.thompson_gaussian_ag(4), "coin", NORMALS),
    "thompson_gaussian_unknown": (jb.algorithms.thompson_gaussian_unknown(4), "real", NORMALS),
    "bayes_ucb gaussian": (jb.algorithms.bayes_ucb(4, **gaussian), "real", None),
    "bayes_ucb_gaussian_unknown": (jb.algorithms.bayes_ucb_gaussian_unknown(4), "real", None),
    "imed gaussian": (jb.algorithms.imed(4, **gaussian), "real", None),
    "imed poisson": (jb.algorithms.imed(4, **poisson), "poisson", None),
    "imed exponential": (jb.algorithms.imed(4, **exponential), "exponential", None),
    "ada_ucb": (jb.algorithms.ada_ucb(4, horizon=40, sigma=0.5), "coin", None),
    "oc_ucb": (jb.algorithms.oc_ucb(4, sigma=0.5), "coin", None),
    "besa": (jb.algorithms.besa(4), "coin", BESA),
    "phe": (jb.algorithms.phe(4), "coin", FIVE),
    "giro": (jb.algorithms.giro(4), "coin", FIVE),
    "lb_sda": (jb.algorithms.lb_sda(4, horizon=40), "coin", None),
    "rb_sda": (jb.algorithms.rb_sda(4, horizon=40), "coin", U[:, :4]),
    "exp3_plus_plus": (jb.algorithms.exp3_plus_plus(4), "coin", U[:, 0]),
    "raw_ucb": (jb.algorithms.raw_ucb(4, horizon=40), "coin", None),
    "swa": (jb.algorithms.swa(4, window=3), "coin", None),
    "robust_ucb truncated": (jb.algorithms.robust_ucb(4, moment=4.0, horizon=40), "real", None),
    "robust_ucb median": (
        jb.algorithms.robust_ucb(4, moment=1.0, horizon=40, estimator="median of means"),
        "real",
        None,
    ),
}
ARMS = {
    "fixed_arm": "2222222222222222222222222222222222222222",
    "etc": "0123012301231111111111111111111111111111",
    "etc_gap": "0123012301230123012301230123012311111111",
    "etc_sprt": "0123012301231111111111111111111111111111",
    "etc_bai": "0123012301230123012311111111111111111111",
    "epsilon_first": "2031020310210333333333333333333333333333",
    "epsilon_decreasing": "2031020310213132102003333233233133033033",
    "softmax": "0123313313333333313313133131131311333333",
    "softmax decreasing": "0123313313333133113313133131131311333333",
    "boltzmann_gumbel": "0123313213331132313310120131131311331333",
    "ucb_tuned": "0123131131111023311311111111111111133333",
    "ucb_alpha": "0123131130021031002301113300301201301112",
    "kl_ucb_plus": "0123131130021031003320013300301302222212",
    "kl_ucb_h_plus": "0123131130021031222203312300001233033333",
    "kl_ucb_plus_plus": "0123131302213331322003312033333333311122",
    "kl_ucb_switch": "0123111133330221322133320312313333302333",
    "kl_ucb_switch anytime": "0123130213333333311002233333313302223233",
    "kl_ucb": "0123131131110221222321121111113311011133",
    "imed": "0123130122323332311123333300003301223233",
    "kl_ucb gaussian": "0123321032310123213031332203132331100113",
    "kl_ucb poisson": "0123231303023211133101230332331132131303",
    "kl_ucb exponential": "0123321032103203132013231023011321132123",
    "thompson gaussian": "0123313133331132113310110131131311331333",
    "thompson_gaussian_ag": "0123302303331222313313123131131211333332",
    "thompson_gaussian_unknown": "0123012301233222213230223331332333333333",
    "bayes_ucb gaussian": "0123321033233123023113213120333201110221",
    "bayes_ucb_gaussian_unknown": "0123012333333003223232111131333331111032",
    "imed gaussian": "0123321032103201332103120132312031132102",
    "imed poisson": "0123231033233123032333111332333122113333",
    "imed exponential": "0123321032103201321301330213103212031303",
    "ada_ucb": "0123131313330223311321133333333311311110",
    "oc_ucb": "0123131130021031222203312300000111123110",
    "besa": "0123131122332221223322023233213333233203",
    "phe": "0123303133333323313313133131331211333333",
    "giro": "0123302103331222313310123131131311330332",
    "lb_sda": "0123102331313333311301211131313131313131",
    "rb_sda": "0123102333113333311333133333303333333333",
    "exp3_plus_plus": "1230230230120120120123123123013013013012",
    "raw_ucb": "0123130122232222001320001111111233311110",
    "swa": "0123012301231113300111111111111111111111",
    "robust_ucb truncated": "0123321032103201321031203102312031203120",
    "robust_ucb median": "0123321032103201321032103012301231023102",
}


@pytest.mark.parametrize("name", a_few(RULES, 8))
def test_the_first_arms_are_those_of_independent_programs(name):
    rule, world, noise = RULES[name]
    assert "".join(map(str, play(lambda: rule, REWARDS[world], noise=noise).actions)) == ARMS[name]
