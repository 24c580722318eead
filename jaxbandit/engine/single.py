"""One run, traced: the functions that the engine batches, and which of their leaves differ between runs."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Algorithm, Environment
from jaxbandit.engine import batching, keys
from jaxbandit.types import Array, PyTree

# Vectors of the state that are reported of every run, under these names.
REPORTED = {"counts": "pulls", "kinds": "kinds"}


class SingleRun:
    """A run of make(arguments) as pure functions, with examples of what passes between them.

    In `begin` and `draw`, words are the key words of the environment and of the algorithm, uint32[words] each.
    """

    def __init__(
        self,
        make: Callable[[PyTree], tuple[Algorithm, Environment]],
        arguments: PyTree,
        implementation: str,
    ):
        self.make, self.implementation = make, implementation
        self.arguments = jax.eval_shape(lambda: arguments)
        self.words = jax.eval_shape(lambda: (jax.random.key_data(jax.random.key(0, impl=implementation)),) * 2)
        self.round = jax.ShapeDtypeStruct((), jnp.int32)
        self.world, self.state = jax.eval_shape(self.begin, self.arguments, self.words)
        self.noise = jax.eval_shape(self.draw, self.arguments, self.words, self.round)
        after, _ = jax.eval_shape(self.play, self.arguments, self.world, self.state, self.noise)
        _same_state("update", self.state, after)
        self.flag = jax.ShapeDtypeStruct((), bool)
        self.refreshes = False
        jax.eval_shape(self._look, self.arguments)
        if self.refreshes:
            _same_state("refresh", self.state, jax.eval_shape(self._refresh, self.arguments, self.state))

        self.shared = batching.constant_flags(self.arguments, False)
        self.noise_varies = batching.constant_flags(self.noise, True)
        self.world_varies, self.state_varies = batching.varying_outputs(
            self.begin, (self.arguments, self.words), (self.shared, (True, True))
        )
        # Runs are refreshed at rounds of their own: what a refresh changes differs between them.
        self.refresh_changes = self._refresh_changes()
        self.state_varies = batching.either(self.state_varies, self.refresh_changes)
        grown = None
        while grown != self.state_varies:  # a leaf is shared only if no round makes it differ
            self.state_varies = self.state_varies if grown is None else grown
            flags = (self.shared, self.world_varies, self.state_varies, self.noise_varies)
            after, _ = batching.varying_outputs(self.play, (self.arguments, self.world, self.state, self.noise), flags)
            grown = batching.either(self.state_varies, after)

        vectors = [name for name in REPORTED if getattr(getattr(self.state, name, None), "ndim", None) == 1]
        self.reported = {name: REPORTED[name] for name in vectors}
        self.has_counts = "counts" in self.reported
        context = jax.eval_shape(self.observe, self.arguments, self.world, self.noise)
        self.regret_from_counts = context is None and self.has_counts

    def begin(self, arguments: PyTree, words: tuple[Array, Array]) -> tuple[PyTree, PyTree]:
        """States of the environment and of the algorithm before the first round."""
        algorithm, environment = self.make(arguments)
        first, second = (keys.round_key(w, jnp.uint32(0), self.implementation) for w in words)
        return environment.init(first), algorithm.init(second)

    def draw(self, arguments: PyTree, words: tuple[Array, Array], round: Array) -> tuple[PyTree, PyTree]:
        """All the chance of one round: the environment's and the algorithm's."""
        algorithm, environment = self.make(arguments)
        first, second = (keys.round_key(w, round, self.implementation) for w in words)
        return environment.noise(first), algorithm.noise(second)

    def observe(self, arguments: PyTree, world: PyTree, noise: tuple[PyTree, PyTree]) -> PyTree:
        """The round's context."""
        return self.make(arguments)[1].observe(world, noise[0])

    def play(self, arguments: PyTree, world: PyTree, state: PyTree, noise: tuple[PyTree, PyTree]) -> tuple:
        """One round: the algorithm's next state and the regret of its action."""
        algorithm, environment = self.make(arguments)
        context = environment.observe(world, noise[0])
        action = algorithm.select(noise[1], state, context)
        reward = environment.reward(world, context, action, noise[0])
        after = algorithm.update(state, context, action, reward)
        return after, environment.regret(world, context, action)

    def waits(self, arguments: PyTree, state: PyTree, live: Array) -> Array:
        """Whether a live run needs a refresh before it goes on."""
        needs: Any = self.make(arguments)[0].needs_refresh
        return live & needs(state)

    def refreshed(self, arguments: PyTree, state: PyTree, live: Array) -> tuple[PyTree, Array]:
        """A live run's state after the refresh that it needs, and whether it needs one still: it would for ever."""
        due = self.waits(arguments, state, live)
        fresh = self._refresh(arguments, state)
        kept = jax.tree.map(
            lambda old, new, varies: jnp.where(due, new, old) if varies else old, state, fresh, self.refresh_changes
        )
        return kept, due & self.waits(arguments, fresh, live)

    def regret_of_counts(self, arguments: PyTree, world: PyTree, state: Any) -> Array:
        """Regret so far of a run without contexts: pulls times gaps, with nothing accumulated over the rounds."""
        environment = self.make(arguments)[1]
        arms = jnp.arange(self.state.counts.shape[0], dtype=jnp.int32)
        gaps = jax.vmap(lambda arm: environment.regret(world, None, arm))(arms)
        return jnp.sum(state.counts.astype(gaps.dtype) * gaps)

    def report(self, arguments: PyTree, state: Any) -> dict[str, Array]:
        """What a run leaves behind besides its regret."""
        counted = {shown: getattr(state, name) for name, shown in self.reported.items()}
        return {"nonfinite": has_nan(state), "recommendation": self.make(arguments)[0].recommend(state), **counted}

    def examples(self) -> list[tuple[Callable, tuple]]:
        """The functions on which every number of the run depends, with examples of their arguments."""
        more: list = [(self.refreshed, (self.arguments, self.state, self.flag))] if self.refreshes else []
        return [
            (self.begin, (self.arguments, self.words)),
            (self.draw, (self.arguments, self.words, self.round)),
            (self.play, (self.arguments, self.world, self.state, self.noise)),
            *more,
        ]

    def _look(self, arguments: PyTree) -> None:
        self.refreshes = self.make(arguments)[0].refresh is not None

    def _refresh(self, arguments: PyTree, state: PyTree) -> PyTree:
        refresh: Any = self.make(arguments)[0].refresh
        return refresh(state)

    def _refresh_changes(self) -> PyTree:
        """True where a refresh may give a leaf of the state another value."""
        if not self.refreshes:
            return batching.constant_flags(self.state, False)
        return batching.changed(lambda state, arguments: self._refresh(arguments, state), self.state, self.arguments)

    def digest(self) -> str:
        """Of what is played, as JAX sees it, and of the arrays closed over."""
        digest = hashlib.sha256()
        for function, example in self.examples():
            closed = jax.make_jaxpr(function)(*example)
            digest.update(re.sub("0x[0-9a-f]+", "", str(closed.jaxpr)).encode())  # addresses differ by process
            for constant in closed.consts:
                digest.update(np.asarray(constant).tobytes())
        return digest.hexdigest()

    def bytes(self, tree: PyTree, varies: PyTree) -> int:
        """Size of the leaves of one run that are not shared."""
        leaves = zip(jax.tree.leaves(tree), jax.tree.leaves(varies), strict=True)
        return sum(leaf.size * leaf.dtype.itemsize for leaf, flag in leaves if flag)


def has_nan(state: PyTree) -> Array:
    """Whether any number of the state is NaN, bool[]."""
    leaves = [x for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([jnp.isnan(x).any() for x in leaves]).any() if leaves else jnp.zeros((), bool)


def _same_state(name: str, before: PyTree, after: PyTree) -> None:
    """Refuse an update or refresh that changes the state's structure, shapes or dtypes: no compiled loop carries it."""
    if jax.tree.structure(before) != jax.tree.structure(after):
        raise ValueError(
            f"algorithm.{name} returns a state of structure {jax.tree.structure(after)}, init gives "
            f"{jax.tree.structure(before)}: both must be the same NamedTuple"
        )
    for (path, old), new in zip(jax.tree_util.tree_leaves_with_path(before), jax.tree.leaves(after), strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise ValueError(
                f"algorithm.{name} changes state{jax.tree_util.keystr(path)} from {old.dtype}{list(old.shape)} to "
                f"{new.dtype}{list(new.shape)}: shapes and dtypes must not change"
            )
