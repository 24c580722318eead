"""Which blocks of a generator functions consume: they are evaluated equation by equation where they draw."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

DRAWS = {"random_bits", "random_gamma"}
DERIVES = {"random_fold_in", "random_split"}
INNER = ("jaxpr", "call_jaxpr", "call", "fun_jaxpr")


class Generator:
    """A log of what is drawn.

    Block i of a key gives word i of what is drawn from the key, the key that folding i into it gives, and its i-th part
    when it is split. (In the generators some of these are different; that is not relied upon.)
    """

    def __init__(self):
        self.consumed = []  # (implementation, key words, block) of each word drawn
        self.derived = set()  # the same, of each key made from a key
        self._found = {}
        self._draws = {}

    def watched(self, function):
        """The function, which logs what it draws; its arguments must have the same shapes in each call."""
        found = []

        def call(*arguments):
            if not found:
                closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
                structure = jax.tree.structure(shape)
                found.append((closed, structure, None if draws(closed.jaxpr) else jax.jit(function)))
            closed, structure, compiled = found[0]
            if compiled is not None:
                return compiled(*arguments)
            return jax.tree.unflatten(structure, self._evaluate(closed, jax.tree.leaves(arguments)))

        return call

    def twice(self):
        """Blocks that were consumed twice, or consumed and made into a key."""
        seen, twice = set(self.derived), []
        for block in self.consumed:
            if block in seen:
                twice.append(block)
            seen.add(block)
        return twice

    def _evaluate(self, closed, arguments):
        jaxpr = closed.jaxpr
        values = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values |= dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atoms):
            return [atom.val if isinstance(atom, Literal) else values[atom] for atom in atoms]

        for equation, compiled in self._steps(jaxpr):
            if compiled is None:
                given = read(equation.invars)
                self._note(equation, given)
                results = self._inside(equation, given)
            else:
                results = compiled(*read(equation.invars))
            values |= dict(zip(equation.outvars, results, strict=True))
        return read(jaxpr.outvars)

    def _steps(self, jaxpr):
        """(equation, None) for one that draws; (what is between two of them, it compiled) for the rest."""
        if id(jaxpr) not in self._found:
            steps = []
            for draw, group in itertools.groupby(jaxpr.eqns, drawing):
                equations = list(group)
                steps += [(e, None) for e in equations] if draw else [_together(jaxpr, equations)]
            self._found[id(jaxpr)] = jaxpr, steps  # the jaxpr too, so that no other has its id
        return self._found[id(jaxpr)][1]

    def _inside(self, equation, given):
        """The results of an equation that draws."""
        name, params = equation.primitive.name, equation.params
        if name in DRAWS | DERIVES:
            if id(equation) not in self._draws:  # by itself a primitive with a loop in it is compiled in every call
                self._draws[id(equation)] = equation, jax.jit(partial(equation.primitive.bind, **params))
            return [self._draws[id(equation)][1](*given)]
        if name == "cond":
            return self._evaluate(params["branches"][int(given[0])], given[1:])
        if name == "while":
            first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
            carry = given[second:]
            while self._evaluate(params["cond_jaxpr"], given[:first] + carry)[0]:
                carry = self._evaluate(params["body_jaxpr"], given[first:second] + carry)
            return carry
        if name == "scan":
            first, second, rows = *_parts(params), []
            carry = given[first:second]
            for i in range(params["length"])[:: -1 if params["reverse"] else 1]:
                step = self._evaluate(params["jaxpr"], given[:first] + carry + [x[i] for x in given[second:]])
                carry, row = step[: len(carry)], step[len(carry) :]
                rows.append(row)
            return carry + [jnp.stack(column[:: -1 if params["reverse"] else 1]) for column in zip(*rows, strict=True)]
        (body,) = [params[key] for key in INNER if key in params]
        assert len(body.jaxpr.invars) == len(given), f"what {name} does with its arguments is not known here"
        return self._evaluate(body, given)

    def _note(self, equation, given):
        name, params = equation.primitive.name, equation.params
        if name in DRAWS | DERIVES:
            data = jax.random.key_data(given[0])
            rows = np.asarray(data).reshape(-1, data.shape[-1])
            about = [(str(jax.random.key_impl(given[0])), tuple(map(int, row))) for row in rows]
            if name == "random_fold_in":
                places = np.arange(len(rows)).reshape(given[0].shape)
                both = np.broadcast_arrays(places, np.asarray(given[1]))
                self.derived |= {(*about[place], int(i)) for place, i in zip(*map(np.ravel, both), strict=True)}
            elif name == "random_split":
                self.derived |= {(*key, i) for key in about for i in range(math.prod(params["shape"]))}
            else:
                size = math.prod(params.get("shape", ()))
                self.consumed += [(*key, i) for key in about for i in range(size)]


def inner(equation):
    """The jaxprs inside an equation."""
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            jaxpr = getattr(part, "jaxpr", part)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def drawing(equation):
    """Whether an equation draws, or makes keys of keys."""
    return equation.primitive.name in DRAWS | DERIVES or any(map(draws, inner(equation)))


def draws(jaxpr):
    """Whether a jaxpr draws, or makes keys of keys, anywhere."""
    return any(map(drawing, jaxpr.eqns))


def _together(jaxpr, equations):
    """The equations as one jaxpr, of what they read and of all that they give; and it compiled."""
    given = [v for e in equations for v in e.outvars]
    read = dict.fromkeys(v for e in equations for v in e.invars if not isinstance(v, Literal))
    about = jaxpr.debug_info.with_unknown_names()
    one = jaxpr.replace(
        constvars=[], invars=[v for v in read if v not in given], outvars=given, eqns=equations, debug_info=about
    )
    return one, jax.jit(jaxpr_as_fun(ClosedJaxpr(one, [])))


def _parts(params):
    """Where the carry of a scan begins and ends among its operands; JAX 0.12 says it by trees of their places."""
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, _ = (len(list(part)) for part in params["ft_in"].elts)
    return consts, consts + carry
