"""What `python -m benchmarks gpu` measures, in the order of importance: processes with their flags, tasks, time limits.

The whole may take eight minutes, and what is not reached is named. The flags are those of XLA's GPU compiler; a version
that does not know one ends the process, and the rows say so.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu_agreement import RULES

HERE = "here"  # the process of the command, which does not import JAX

# Flags by name, and the effect that is measured. A command buffer, or CUDA graph, starts many kernels by one call.
GRAPHS = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_enable_command_buffer=+CONDITIONAL,+WHILE"
FLAGS = {
    # A loop becomes part of a graph, so that neither its kernels nor its condition wait for the host.
    "graphs of loops": GRAPHS,
    # Copies of slices, such as the noise of a round, may be part of it too; without that, one of them keeps a loop out.
    "graphs of loops and slices": f"{GRAPHS},+DYNAMIC_SLICE_FUSION",
    # A loop of known length is written out while the graph is recorded.
    "graphs of loops, written out": f"{GRAPHS} --xla_gpu_command_buffer_unroll_loops=true",
    # No graph at all: what a kernel costs that is started by itself.
    "no graphs": "--xla_gpu_enable_command_buffer=",
    # A kernel is started before the one that it depends on has ended (programmatic dependent launch).
    "dependent launches": "--xla_gpu_enable_pdl=true",
    # Every loop of known length plays two iterations in one, so that its state is not copied between them.
    "double buffering": "--xla_gpu_enable_while_loop_double_buffering=true",
    # The compiler does not time kernels: what autotuning costs in seconds of compilation, and brings in speed.
    "no autotuning": "--xla_gpu_autotune_level=0",
}
UNROLLED = (1, 8, 16, 32)


class Task(NamedTuple):
    """One row: a function of `gpu_tasks` and its arguments."""

    group: str  # the table in which it stands
    name: str
    function: str
    given: dict[str, Any]
    limit: float = 30.0  # seconds


class Session(NamedTuple):
    """The tasks of one process."""

    platform: str
    tasks: list[Task]
    variant: str = ""  # a name in FLAGS


def plan(platform: str, tiny: bool, directory: Path) -> list[Session]:
    """Return what is measured; `directory` holds the files by which two platforms are compared."""
    seconds = 0.001 if tiny else 0.2
    few, many = ([64], [64]) if tiny else ([2**10, 2**17], [2**10, 2**18])
    runs = {9: [64]} if tiny else {9: [2**i for i in (10, 12, 14, 16, 17, 18, 20, 21)], 100: [2**10, 2**17, 2**20]}
    runs[1000] = few
    first = [
        Task("limits", "device", "device", {}, 40),
        Task("limits", "copy", "copy", {"mebibytes": 1 if tiny else 1024}),
        Task("limits", "launches", "launches", {"trips": 20 if tiny else 2000, "chain": 20 if tiny else 200}, 60),
        *(_round("rounds", "ucb1", num_arms, n, seconds) for num_arms, some in runs.items() for n in some),
        *(_call(n, horizon) for n, horizon in ([(64, 100)] if tiny else [(1000, 10_000), (2**17, 1000)])),
    ]
    kernels = [] if platform == "cpu" else list(_kernels(seconds))
    loops = [_round("loops", "ucb1", 9, n, seconds, unroll) for n in few for unroll in UNROLLED]
    cells = [(64, 0)] if tiny else [(2**10, 0), (2**10, 1), (2**10, 16), (2**17, 0)]
    varied = [_round("loops", "ucb1", 9, n, seconds, unroll) for n, unroll in cells]
    rules = [
        _round("rules", rule, 40 if rule == "lin_ucb" else 9, n, seconds)
        for n in many
        for rule in ("kl_ucb", "thompson", "imed", "lin_ucb", "glr_klucb")[:: 3 if tiny else 1]
    ]
    graphs, *others = (Session(platform, varied, name) for name in FLAGS)
    return [
        Session(platform, kernels),
        Session(platform, first + (loops[:2] if tiny else loops)),
        graphs,
        *_agreement(platform, tiny, directory),
        Session(platform, rules + list(_stops(tiny))),
        *others,
    ]


def _name(rule: str, num_arms: int, runs: int) -> str:
    return f"{rule}, K = {num_arms}, {runs:,} runs"


def _call(runs: int, horizon: int) -> Task:
    given = {"rule": "ucb1", "num_arms": 9, "runs": runs, "horizon": horizon}
    return Task("calls", f"{_name('ucb1', 9, runs)}, {horizon:,} rounds", "call", given, 45)


def _round(group: str, rule: str, num_arms: int, runs: int, seconds: float, unroll: int = 0) -> Task:
    more = f", {unroll} at a time" if unroll else ""
    given = {"rule": rule, "num_arms": num_arms, "runs": runs, "seconds": seconds, "unroll": unroll}
    return Task(group, _name(rule, num_arms, runs) + more, "rounds", given, 45)


def _kernels(seconds: float) -> Iterator[Task]:
    """Yield rounds and whole calls in one kernel."""
    cells = [("ucb1", 9, 2**i) for i in (10, 14, 17, 18, 20)] + [("ucb1", 100, 2**10), ("ucb1", 100, 2**17)]
    cells += [(rule, 9, n) for rule in ("epsilon_greedy", "kl_ucb", "imed", "thompson") for n in (2**10, 2**18)]
    for rule, num_arms, runs in [*cells, ("kl_ucb", 100, 2**10), ("kl_ucb", 100, 2**17)]:
        given = {"rule": rule, "num_arms": num_arms, "runs": runs, "seconds": seconds, "kernel": True}
        yield Task("kernels", _name(rule, num_arms, runs), "rounds", given, 45)
    for runs, horizon in ((1000, 10_000), (2**17, 1000)):
        given = {"rule": "ucb1", "num_arms": 9, "runs": runs, "horizon": horizon, "kernel": True}
        yield Task("calls in kernels", f"{_name('ucb1', 9, runs)}, {horizon:,} rounds", "call", given, 45)


def _agreement(platform: str, tiny: bool, directory: Path) -> Iterator[Session]:
    """Yield the sessions of a CPU, of the platform, and of the comparison of their files."""
    runs, rounds, values = (64, 40, 256) if tiny else (10_000, 500, 65_536)
    rules = RULES[2:3] if tiny else RULES

    def written(who: str, name: str) -> str:
        return str(directory / f"{name}-{who}.npz")

    def played(who: str) -> Iterator[Task]:
        for rule in rules:
            given = {"rule": rule, "runs": runs, "rounds": rounds, "path": written(who, rule)}
            yield Task("played", f"{rule} on the {who}", "pulls", given)
        given = {"values": values, "path": written(who, "arithmetic")}
        yield Task("played", f"arithmetic on the {who}", "arithmetic", given)

    def both(name: str) -> dict[str, str]:
        return {"one": written("CPU", name), "other": written("device", name)}

    yield Session("cpu", list(played("CPU")))
    yield Session(platform, list(played("device")))
    compared = [Task("agreement", rule, "compare_pulls", both(rule)) for rule in rules]
    yield Session(HERE, [*compared, Task("arithmetic", "arithmetic", "compare_arithmetic", both("arithmetic"))])


def _stops(tiny: bool) -> Iterator[Task]:
    """Yield runs on lanes, and searches."""
    runs, most = (64, 100) if tiny else (2**16, 20_000)
    for rule in ("lingape", "kl_lucb", "paired_race")[:: 2 if tiny else 1]:
        given = {"rule": rule, "runs": runs, "max_rounds": most}
        yield Task("lanes", f"{rule}, {runs:,} runs", "lanes", given, 40)
    if not tiny:
        given = {"rule": "lingape", "runs": runs, "max_rounds": most, "width": runs // 8}
        yield Task("lanes", f"lingape, {runs:,} runs on {runs // 8:,} lanes", "lanes", given, 40)
    networks, steps = (8, 2) if tiny else (2048, 40)
    yield Task("searches", f"tune, {networks:,} networks", "tune", {"networks": networks, "steps": steps}, 40)
    for batch in (None,) if tiny else (None, 512):
        given = {"networks": networks // 4, "most_steps": 3 if tiny else 81, "batch": batch}
        by = "the default batch" if batch is None else f"batches of {batch}"
        yield Task("searches", f"halving, {networks // 4:,} networks, {by}", "successive_halving", given, 40)
