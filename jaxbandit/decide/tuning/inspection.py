"""What can be said of a training function without calling it, because a call may cost money."""

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

OURS = __name__.partition(".")[0]
JAX = {"jax", "jaxlib", "flax", "optax", "equinox", "haiku", "chex", "diffrax", "distrax", "numpyro", OURS}
FOLDERS = {"site-packages", "dist-packages"}  # of installed packages
MOST = 200  # functions that are searched for a use of JAX


def core(function: Any) -> Any:
    """Return the function inside partial functions, methods, callable objects and compiled functions."""
    for _ in range(MOST):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, types.FunctionType | type):
            break
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif "__call__" in vars(type(function)) and not installed(type(function).__module__):
            function = vars(type(function))["__call__"]
        else:
            break
    return function


def package_of(value: Any) -> str:
    """Return the name of the package in which a function or a class was written, or of a module."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return str(name or "").partition(".")[0]


def installed(name: str | None) -> bool:
    """Whether a module belongs to Python or to an installed package, and not to the user."""
    name = name or ""
    if name not in ("__main__", "builtins") and name.partition(".")[0] in {OURS, *sys.stdlib_module_names}:
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:  # a notebook, or a function that was sent here
        return False
    return bool(FOLDERS & set(Path(file).parts))


def instructions(code: types.CodeType) -> list[dis.Instruction]:
    """Return the instructions of code and of the functions that it defines."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return [*dis.get_instructions(code), *(step for part in inner for step in instructions(part))]


def takes_integer(train: Callable) -> bool:
    """Whether the first argument is an integer seed: annotated as int, or named `seed` without annotation."""
    try:
        first = next(iter(inspect.signature(train).parameters.values()), None)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return False
    if first is None or first.annotation is first.empty:
        return first is not None and first.name == "seed"
    return first.annotation in (int, "int")


def awaits(function: Callable) -> bool:
    """Whether what a function returns has to be awaited, because it is declared by `async def`."""
    whole = isinstance(function, types.FunctionType)  # of which `core` would be what it wraps
    return inspect.iscoroutinefunction(function if whole else core(function))


def uses_jax(function: Callable) -> bool:
    """Whether a function, or code of the user to which it refers, refers to JAX or a library made on it."""
    seen: set[int] = set()
    waiting = [function, core(function)]
    while waiting and len(seen) < MOST:
        value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if package_of(value) in JAX or package_of(type(value)) in JAX:
            return True
        if isinstance(value, functools.partial):
            waiting += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, types.MethodType):
            waiting += [value.__func__, value.__self__]
        elif isinstance(value, type) and not installed(value.__module__):
            members = (getattr(x, "__func__", getattr(x, "fget", x)) for x in vars(value).values())
            waiting += [*value.__bases__, *(x for x in members if isinstance(x, types.FunctionType))]
        elif isinstance(value, types.FunctionType) and (value is core(function) or not installed(value.__module__)):
            if imported(value.__code__) & JAX:
                return True
            waiting += _referred(value)
        elif not callable(value) or isinstance(value, types.BuiltinFunctionType):
            continue
        else:  # an object that is called
            waiting += [core(value), *getattr(value, "__dict__", {}).values()]
    return False


def imported(code: types.CodeType) -> set[str]:
    """Return the packages that a function imports when it is called."""
    return {str(s.argval).partition(".")[0] for s in instructions(code) if s.opname == "IMPORT_NAME"}


def _referred(function: types.FunctionType) -> list[Any]:
    """The values that a function closes over, its defaults, and the globals and attributes of modules that it names."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if filled(cell)]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    names = {step.argval for step in instructions(function.__code__) if isinstance(step.argval, str)}
    found = [value for name, value in function.__globals__.items() if name in names]
    own = [x for x in found if isinstance(x, types.ModuleType) and not installed(x.__name__)]
    return [*cells, *defaults, *found, *(value for m in own for name, value in vars(m).items() if name in names)]


def filled(cell: types.CellType) -> bool:
    """Whether a variable of an enclosing function has a value."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
