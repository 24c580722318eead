"""What the text of a GPU kernel must not contain, and which programs and devices have one."""

import logging
import re

import emulate
import jax.numpy as jnp
import numpy as np
import parts
import pytest

import jaxbandit as jb
from jaxbandit.engine.driver import fixed_horizon
from jaxbandit.engine.driver.tile_loop import TileLoop
from jaxbandit.engine.kernels import eligible
from jaxbandit.engine.kernels.arms import FARTHEST
from jaxbandit.engine.kernels.kernel import Kernel
from jaxbandit.engine.kernels.ptx import MOST_LINES, MOST_WRITTEN, NoRule, Text
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.environments.stationary.bernoulli import bernoulli


def run_of(name, arms=9, **options):
    pair = parts.algorithm(name, num_arms=arms), bernoulli(np.linspace(0.1, 0.9, arms))
    return SingleRun(lambda _: pair, (), options.get("implementation", "threefry4x32"), any_rewards=True)


@pytest.mark.parametrize("name", ["etc", "ucb1"])
def test_integers_are_compared_by_what_cannot_be_a_negative(name):
    """The assembler of CUDA 13.0 loses the sign of -b in the largest of a, -b and c."""
    lines = Kernel(run_of(name), 64, 2, 9).text.splitlines()
    operands = [line.rstrip(";").split(", ") for line in lines if re.match(r"(max|min)\.[su]32", line)]
    flips = {line.split(", ")[0].split()[-1] for line in lines if line.startswith("xor.b32") and "2147483648" in line}
    assert len(operands) > 2
    for _, a, b in operands:  # a clip to a range, or two numbers in another order
        assert re.fullmatch(r"-?\d+", b) or {a, b} <= flips | {x for x in (a, b) if re.fullmatch(r"\d+", x)}


def test_no_offset_is_beyond_what_an_instruction_holds():
    text = Kernel(run_of("ucb1"), 1 << 26, 2, 9).text
    assert max(int(offset) for offset in re.findall(r"\+(\d+)\]", text)) < FARTHEST
    assert str(4 * 8 << 26) in text  # the offset of the last of nine arms, which is added to the address


class Device:
    platform, device_kind, compute_capability = "gpu", "a GPU", "9.0"


@pytest.mark.parametrize(
    ("make", "device", "reason"),
    [
        (lambda: run_of("ucb1"), {}, None),
        (lambda: run_of("glr_klucb", 3), {}, "replans"),
        (lambda: run_of("ucb1", implementation="threefry2x32"), {}, "generator"),
        (lambda: run_of("ucb1"), {"compute_capability": "7.5"}, "compute capability 8.0"),
        (lambda: run_of("ucb1"), {"compute_capability": None}, "compute capability 8.0"),
    ],
    ids=["played in a kernel", "a rule that replans", "another generator", "an old GPU", "no NVIDIA GPU"],
)
def test_what_is_not_eligible_is_named_in_the_log(make, device, reason, monkeypatch, caplog):
    kind = type("Other", (Device,), device)
    if not device:
        monkeypatch.setattr(eligible, "_fault_of", lambda _: None)
    caplog.set_level(logging.INFO, "jaxbandit")
    assert eligible.is_eligible(make(), 2, kind()) is (reason is None)
    assert [reason in record.message for record in caplog.records] == ([] if reason is None else [True])


def unknown(a, b):
    raise RuntimeError("no handler of this name\nand more")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (lambda a, b: a / b + jnp.sqrt(b), None),
        (
            lambda a, b: jnp.nextafter(a / b + jnp.sqrt(b), jnp.inf),
            "a small kernel on a GPU has other numbers than the CPU",
        ),
        (unknown, "the device a GPU does not run a small kernel: no handler of this name"),
    ],
    ids=["the same numbers", "another last digit", "an error"],
)
def test_a_device_is_tried_with_a_small_kernel(answer, fault, monkeypatch):
    monkeypatch.setattr(eligible, "_probe", answer)
    monkeypatch.setattr(eligible.jax, "device_put", lambda x, device: x)
    assert eligible._fault_of.__wrapped__(Device()) == fault


def test_the_small_kernel_has_the_numbers_of_numpy(monkeypatch):
    def launch(name, text, operands, results, blocks, threads):
        out = np.zeros(results[0].shape, np.float32)
        emulate.Machine(text, blocks, threads, [*operands, out], 0).run()
        return [out]

    monkeypatch.setattr(eligible, "launch", launch)
    a, b = np.random.default_rng(0).uniform(1, 9, (2, 128)).astype(np.float32)
    np.testing.assert_array_equal(eligible._probe(a, b), a / b + np.sqrt(b))


@pytest.mark.slow
def test_runs_in_kernels_and_in_the_loop_are_not_mixed(monkeypatch, tmp_path):
    class Loop(TileLoop):
        """Stands for a KernelLoop, which this machine cannot execute."""

    monkeypatch.setattr(fixed_horizon, "is_eligible", lambda run, number, device: True)
    monkeypatch.setattr(fixed_horizon, "KernelLoop", Loop)
    rule, world = jb.algorithms.ucb1(2), jb.environments.bernoulli([0.2, 0.8])

    def play(kernel):
        execution = jb.Execution(kernel=kernel, directory=tmp_path, progress=False)
        return jb.simulate(rule, world, horizon=20, num_runs=64, execution=execution)

    assert play("auto").identity["arithmetic"] == eligible.ARITHMETIC
    with pytest.raises(ValueError, match="arithmetic"):
        play(False)
    execution = jb.Execution(kernel=False)
    assert "arithmetic" not in jb.simulate(rule, world, horizon=20, num_runs=64, execution=execution).identity


def test_a_text_that_will_be_too_long_is_given_up_while_it_is_written(monkeypatch):
    """With a thousand arms, each a number of its own, it took seconds to write what is then refused."""
    texts = []
    monkeypatch.setattr(Text, "prune", lambda self: texts.append(self))
    pair = parts.algorithm("ucb1", num_arms=1000), bernoulli([0.5] * 1000)
    with pytest.raises(NoRule, match=f"more than {MOST_WRITTEN} lines"):
        Kernel(SingleRun(lambda _: pair, (), "threefry4x32"), 64, 2, None)
    assert not texts and MOST_WRITTEN > 1.5 * MOST_LINES  # what is left out afterwards was a fifth at most
