"""Which blocks of a generator functions consume: they are evaluated equation by equation where they draw."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.engine.layout import jaxprs

DRAWS = {"random_bits", "random_gamma"}
DERIVES = {"random_fold_in", "random_split"}


class Generator:
    """A log of what is drawn.

    Block i of a key gives word i of what is drawn from the key, the key that folding i into it gives, and its i-th part
    when it is split. (In the generators some of these are different; that is not relied upon.)
    """

    def __init__(self):
        self.consumed = []  # (implementation, key words, block) of each word drawn
        self.derived = set()  # the same, of each key made from a key
        self._found = {}

    def watched(self, function, *, draws_alone=False):
        """The function, which logs what it draws; its arguments must have the same shapes in each call.

        With `draws_alone` it returns nothing, and nothing is computed on which no draw depends.
        """
        found = []

        def call(*arguments):
            if not found:
                traced, shape = jaxprs.trace(function, *arguments)
                program, structure = jaxprs.read(traced), jax.tree.structure(shape)
                if draws_alone:
                    program = program._replace(outputs=())
                found.append((program, structure, None if draws(program) else jax.jit(function)))
            program, structure, compiled = found[0]
            if compiled is not None:
                return None if draws_alone else compiled(*arguments)
            results = self._evaluate(program, jax.tree.leaves(arguments))
            return None if draws_alone else jax.tree.unflatten(structure, results)

        return call

    def twice(self):
        """Blocks that were consumed twice, or consumed and made into a key."""
        seen, twice = set(self.derived), []
        for block in self.consumed:
            if block in seen:
                twice.append(block)
            seen.add(block)
        return twice

    def _evaluate(self, program, arguments):
        values = dict(zip(program.variables, program.constants, strict=True))
        values |= dict(zip(program.inputs, arguments, strict=True))

        def read(atoms):
            return [atom.array if isinstance(atom, jaxprs.Literal) else values[atom] for atom in atoms]

        for operands, results, step in self._steps(program):
            values |= dict(zip(results, step(read(operands)), strict=True))
        return read(program.outputs)

    def _steps(self, program):
        """(operands, results, function of the operands) for each equation that draws, and for what lies between."""
        if id(program) not in self._found:
            steps = []
            for draw, group in itertools.groupby(_needed(program), lambda pair: drawing(pair[0])):
                pairs = list(group)
                steps += [self._drawing(*pair) for pair in pairs] if draw else [_together([e for e, _ in pairs])]
            self._found[id(program)] = program, steps  # the program too, so that no other has its id
        return self._found[id(program)][1]

    def _drawing(self, equation, wanted):
        # Read once, because the steps of a program are found by its id.
        programs = equation.programs
        if not wanted and equation.called is not None:
            programs = [program._replace(outputs=()) for program in programs]
        results = equation.results if wanted else ()
        if equation.name == "while":
            programs = [jaxprs.program_of(equation.params[name]) for name in ("cond_jaxpr", "body_jaxpr")]
        one = _compiled(equation)

        def step(given):
            self._note(equation, given)
            if equation.name not in DRAWS | DERIVES:
                return self._inside(equation, programs, given)[: len(results)]
            return one(*given) if wanted else ()

        return equation.operands, results, step

    def _inside(self, equation, programs, given):
        """The results of an equation with a program in it that draws."""
        name, params = equation.name, equation.params
        if name == "cond":
            return self._evaluate(programs[int(given[0])], given[1:])
        if name == "while":
            first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
            (asks, body), carry = programs, given[second:]
            while self._evaluate(asks, given[:first] + carry)[0]:
                carry = self._evaluate(body, given[first:second] + carry)
            return carry
        (body,) = programs
        if name == "scan":
            first, number = jaxprs.scan_parts(equation)
            second, rows = first + number, []
            carry = given[first:second]
            for i in range(params["length"])[:: -1 if params["reverse"] else 1]:
                step = self._evaluate(body, given[:first] + carry + [x[i] for x in given[second:]])
                carry, row = step[: len(carry)], step[len(carry) :]
                rows.append(row)
            return carry + [jnp.stack(column[:: -1 if params["reverse"] else 1]) for column in zip(*rows, strict=True)]
        assert len(body.inputs) == len(given), f"what {name} does with its arguments is not known here"
        return self._evaluate(body, given)

    def _note(self, equation, given):
        name, params = equation.name, equation.params
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


def drawing(equation):
    """Whether an equation draws, or makes keys of keys."""
    return equation.name in DRAWS | DERIVES or any(map(draws, equation.programs))


def draws(program):
    """Whether a program draws, or makes keys of keys, anywhere."""
    return any(map(drawing, program.equations))


def _needed(program):
    """The equations that draw, and those on which a draw or an output depends, each with whether its results count."""
    needed, found = set(map(id, program.outputs)), []
    for equation in reversed(program.equations):
        wanted = not needed.isdisjoint(map(id, equation.results))
        if wanted or drawing(equation):
            needed.update(map(id, equation.operands))
            found.append((equation, wanted))
    return found[::-1]


OPERATIONS = {}


def _compiled(equation):
    """The operation by itself, compiled once for all that are the same."""
    key = equation.identity or id(equation)
    if key not in OPERATIONS:
        OPERATIONS[key] = (
            equation,
            jax.jit(lambda *xs: equation.bind(xs)),
        )  # the equation too, so that no other has its id
    return OPERATIONS[key][1]


def _together(equations):
    """The equations as one compiled function of what they read that returns all that they give."""
    given = tuple(v for e in equations for v in e.results)
    atoms = dict.fromkeys(v for e in equations for v in e.operands if not isinstance(v, jaxprs.Literal))
    read = tuple(v for v in atoms if v not in given)
    part = jaxprs.Program(read, tuple(equations), given, (), ())

    @jax.jit
    def together(*xs):
        return jaxprs.evaluate(part, xs, lambda equation, operands: equation.bind(operands), lambda x: x)

    return read, given, lambda xs: together(*xs)
