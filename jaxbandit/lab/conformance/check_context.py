"""Checks of what an environment shows in a round: a context of the declared shape, and which arms are available."""

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Arms, Offer
from jaxbandit.base.types import PyTree
from jaxbandit.lab.conformance.check_case import describe


def mistake(arms: Arms, context: PyTree) -> str:
    """Return how a context, or its shapes, differs from what the arms declare, in one line; "" if it does not."""
    if arms.num_contexts is not None:
        return ""
    if isinstance(context, Offer) != arms.available:
        got = "None" if context is None else type(context).__name__ if isinstance(context, tuple) else describe(context)
        remedy = "return Offer(available, features)" if arms.available else "declare available = True"
        return f"observe returns {got}, Arms declares available = {arms.available}; {remedy}"
    if isinstance(context, Offer):
        if (context.available.shape, context.available.dtype) != ((arms.num_arms,), bool):
            got = describe(context.available)
            return f"observe returns an Offer with available {got}, must be bool[{arms.num_arms}]"
        context = context.features
    shown = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(context)]
    if shown == ([] if arms.context is None else [(arms.context, jnp.result_type(float))]):
        return ""
    got = ", ".join(map(describe, jax.tree.leaves(context))) or "no context"
    return f"observe returns {got}, Arms declares context = {arms.context}; both must agree, in the default float"
