"""Trainings that JAX can trace, many of which run at once in one compiled program for each group of configurations.

A program always trains `batch` configurations side by side on each device, and an incomplete batch is padded with
copies, because XLA may round differently in programs of different batch sizes: a score depends on the seed and the
configuration alone, and not on which others are left.

On a CPU, a program that calls LAPACK trains one configuration after another: two batched calls in one program may wait
for each other for ever.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxbandit.decide.tuning.calls import Part, Train
from jaxbandit.decide.tuning.configs import TRACED, Configs, Group
from jaxbandit.decide.tuning.limits import daemons
from jaxbandit.engine.layout import analysis, compiled, jaxprs, sizes
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.storage import identity
from jaxbandit.running.distribution.driving import completed
from jaxbandit.support.refusals import error_line
from jaxbandit.support.types import Array, Device, PyTree, Scalar

PROBED = 2, 8  # batch sizes from whose memory that of one training is estimated
# Bytes of a batch on a CPU, about one core's share of its caches. Larger batches save at most a twentieth of the time,
# and when few configurations survive, the copies that pad a batch cost their full time.
CACHE = 2**22
MOST = {"cpu": 64}  # largest number of trainings in a batch
MOST_ELSEWHERE = 4096
SHARE = 0.6  # largest fraction of an accelerator's memory that a batch may use
AXIS = "trainings"
# Operations that XLA leaves to LAPACK, or to BLAS, on a CPU.
LIBRARY = frozenset(
    "cholesky eig eigh geqp3 geqrf hessenberg householder_product lu qr schur svd triangular_solve tridiagonal "
    "tridiagonal_solve".split()
)
REAL = jnp.floating, jnp.integer, jnp.bool_  # kinds of a score


class Traced(NamedTuple):
    """A training function that JAX can trace for every group of configurations."""

    train: Train
    configs: Configs
    groups: list[Group]
    integer: bool  # whether train receives an integer as its seed, and not a key
    digests: list[str]  # of the program of each group, including the data that it closes over
    library: list[bool]  # whether the program of each group calls LAPACK


class NotTraceable(Exception):
    """Raised if train cannot be traced; the message is the reason in one line."""


def trace(train: Train, configs: Configs, *, integer: bool = False) -> Traced:
    """Trace a training function for every group of configurations.

    Raises:
      NotTraceable: train raises an exception when it is given traced numbers, or its score does not depend on its
        arguments, because Python has computed it.
      ValueError: train returns something other than one number, or a score that does not depend on its key.
    """
    groups, digests, library = configs.groups(), [], []
    for group in groups:
        _representable(configs, group)
        function, example = _one(train, configs, group, integer), _example(configs, group, 1)
        single = jax.tree.map(lambda x: x[0], example)
        try:
            program, shape = jaxprs.trace(function, *single)
        except (Exception, SystemExit, GeneratorExit) as error:
            raise NotTraceable(error_line(error)) from error
        leaves = jax.tree.leaves(shape)
        if len(leaves) != 1 or leaves[0].shape or not any(jnp.issubdtype(leaves[0].dtype, kind) for kind in REAL):
            outputs = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in leaves) or "nothing"
            raise ValueError(f"train returns {outputs}, must return one number, the score")
        read = jaxprs.read(program)
        needed = analysis.needed_inputs(read)
        if not any(needed):
            raise NotTraceable("JAX finds that its score does not depend on its arguments")
        if not needed[0]:
            source = "seed" if integer else "key"
            what = "must draw its random numbers from it, with jax.random"
            raise ValueError(f"train: the score does not depend on {source}, {what}")
        digests.append(identity.of_program([(function, single)]))
        library.append(_calls_library(read))
    return Traced(train, configs, groups, integer, digests, library)


def _calls_library(program: jaxprs.Program) -> bool:
    """Whether an operation of a program, or of a loop or a branch in it, is left to LAPACK."""
    return any(
        equation.name in LIBRARY or any(map(_calls_library, equation.programs)) for equation in program.equations
    )


def _one_by_one(traced: Traced, group: Group) -> bool:
    """Whether the trainings of a batch run one after another."""
    number = next(i for i, each in enumerate(traced.groups) if each is group)
    return traced.library[number] and devices()[0].platform == "cpu"


def devices() -> list[Device]:
    """Return the devices that share the trainings: JAX's default device if it was set, else all of this process."""
    default = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return (
        jax.local_devices() if default is None else [default] if not isinstance(default, str) else jax.devices(default)
    )


def batches(traced: Traced) -> list[int]:
    """Return the batch size per device for each group, a power of two, by the memory of the program at two sizes.

    On a CPU, a batch must fit into a part of the cache; elsewhere, into a part of the device's memory.
    """
    sizes = []
    for group in traced.groups:
        key = "batch", *_key(traced, group), devices()[0]
        sizes.append(compiled.remember(key, lambda group=group: _batch(traced, group)))
    return sizes


def _batch(traced: Traced, group: Group) -> int:
    device = devices()[0]
    cpu = device.platform == "cpu"
    most = min(_power_of_two(len(group.rows), up=True), MOST.get(device.platform, MOST_ELSEWHERE))
    if most == 1 or _one_by_one(traced, group):
        return 1
    function, (small, large) = _batched(traced, group), PROBED
    used = []
    for size in PROBED:
        words, *columns = _example(traced.configs, group, size)
        example = tuple(columns), words, np.zeros(size, np.int32)
        used.append(compiled.memory(function, device, *example))
    limit = CACHE if cpu else SHARE * sizes.memory(device)
    if None in used:
        return min(most, PROBED[0])
    each = max((used[1] - used[0]) / (large - small), 1.0)
    rest = limit - max(used[0] - small * each, 0.0)
    return min(most, _power_of_two(max(int(rest / each), 1)))


def _power_of_two(number: int, *, up: bool = False) -> int:
    return 1 << (number - 1 if up else number).bit_length() - (not up)


class Trainings:
    """The compiled programs of all groups, which run requested trainings and yield scores as batches end."""

    def __init__(self, traced: Traced, sizes: Sequence[int]):
        self._devices = devices()
        self._platform = self._devices[0].platform
        self._programs: list[tuple[Callable[..., Array], PyTree, int]] = []
        count = traced.configs.count
        self._group, self._row = np.zeros(count, np.int32), np.zeros(count, np.int32)
        for number, (group, size) in enumerate(zip(traced.groups, sizes, strict=True)):
            self._group[group.rows], self._row[group.rows] = number, np.arange(len(group.rows))
            self._programs.append(self._compiled(traced, group, size))

    def _compiled(self, traced: Traced, group: Group, size: int) -> tuple[Callable[..., Array], PyTree, int]:
        function, wide = _batched(traced, group), size * len(self._devices)
        columns = tuple(map(jnp.asarray, traced.configs.traced(group, group.rows)))
        mesh = Mesh(np.array(self._devices), (AXIS,))
        columns = jax.device_put(columns, NamedSharding(mesh, PartitionSpec()))
        example = columns, np.zeros((wide, 2), np.uint32), np.zeros(wide, np.int32)
        if len(self._devices) > 1:
            each, whole = PartitionSpec(AXIS), PartitionSpec()
            function = jax.shard_map(function, mesh=mesh, in_specs=(whole, each, each), out_specs=each, check_vma=False)
        key = "trainings", *_key(traced, group), size, tuple(self._devices)
        program = compiled.remember(key, lambda: compiled.compile_program(function, self._devices[0], *example))
        return program, columns, wide

    def __call__(
        self, words: np.ndarray, arms: np.ndarray, attempts: int = 1, deadline: float | None = None
    ) -> Iterator[Part]:
        """Train the configurations `arms` with the seeds of these words, and yield the results of batches as they end.

        If JAX has a single CPU device, every core trains a batch of its own. `attempts` has no effect, because a
        training that fails would fail again. At the deadline, a time of time.monotonic(), and when the iterator is
        closed, no further batch begins, and batches that are still computed are not waited for.
        """
        parts = []
        for number, (_, _, wide) in enumerate(self._programs):
            places = np.flatnonzero(self._group[arms] == number)
            parts += [(number, places[i : i + wide]) for i in range(0, len(places), wide)]
        workers = compiled.cores() if self._platform == "cpu" and len(self._devices) == 1 else 1
        calls = ((self._trained, words, arms, number, places) for number, places in parts)
        # On threads that nobody waits for, also for one batch, because a program may never end.
        with daemons(min(workers, len(parts))) as pool, closing(completed(pool, calls, 2 * workers, deadline)) as ended:
            for _, future in ended:
                yield future.result()

    def _trained(self, words: np.ndarray, arms: np.ndarray, number: int, places: np.ndarray) -> Part:
        program, columns, wide = self._programs[number]
        filled = np.resize(places, wide)
        try:
            scores = program(columns, words[filled], self._row[arms[filled]])
            return Part(places, np.asarray(scores, np.float64)[: len(places)])
        except jax.errors.JaxRuntimeError as error:
            raise ValueError(
                f"train fails with {wide} trainings at once: {error_line(error)}; give a smaller batch"
            ) from error


def _representable(configs: Configs, group: Group) -> None:
    """Raise an error if a column holds integers that do not fit into JAX's integer type."""
    names = [name for name, value in zip(configs.names, group.static, strict=True) if value is TRACED]
    for name, column in zip(names, configs.traced(group, group.rows), strict=True):
        most = np.iinfo(jnp.asarray(column[:1]).dtype).max if column.dtype.kind in "iu" else np.inf
        if column.dtype.kind in "iu" and (column > most).any():
            raise ValueError(f"configs: {name} holds {column.max()}, must be at most {most}, or jb.space.static")


def _key(traced: Traced, group: Group) -> tuple[Hashable, ...]:
    """The part of the cache key that all programs of a group share."""
    shapes = tuple((c.shape, str(c.dtype)) for c in traced.configs.traced(group, group.rows))
    return traced.train, traced.integer, traced.configs.structure, traced.configs.names, group.key, shapes


def _one(train: Train, configs: Configs, group: Group, integer: bool) -> Callable[..., Scalar]:
    """The function that runs one training, given the words of its seed and the traced numbers of its configuration."""

    def function(words: Array, *numbers: Array) -> Scalar:
        seed = jnp.asarray(words[1], int) if integer else jax.random.wrap_key_data(words, impl=keys.OF_PULLS)
        return train(seed, configs.join(numbers, group))

    return function


def _batched(traced: Traced, group: Group) -> Callable[..., Array]:
    one = _one(traced.train, traced.configs, group, traced.integer)
    apart = _one_by_one(traced, group)

    def function(columns: tuple[Array, ...], words: Array, rows: Array) -> Array:
        numbers = words, *(column[rows] for column in columns)
        scores = jax.lax.map(lambda each: one(*each), numbers) if apart else jax.vmap(one)(*numbers)
        return jnp.asarray(jax.tree.leaves(scores)[0], float)

    return function


def _example(configs: Configs, group: Group, size: int) -> tuple[Array, ...]:
    numbers = configs.traced(group, np.resize(group.rows, size))
    return np.zeros((size, 2), np.uint32), *map(jnp.asarray, numbers)  # pyright: ignore[reportReturnType]
