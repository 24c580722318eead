"""Priors of an instance's arguments in TOML, as in `means = {prior = "beta", a = 1, b = 1, shape = [9]}`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jaxbandit.base.parameters import Parameter
from jaxbandit.support.domains import Domain, check, choice, integer, number, several
from jaxbandit.support.refusals import known, refuse, show

_POSITIVE = number(0, open_low=True)
FAMILIES: Mapping[str, Mapping[str, Domain]] = {
    "beta": {"a": _POSITIVE, "b": _POSITIVE},
    "normal": {"mean": number(), "sd": _POSITIVE},
    "uniform": {"low": number(), "high": number()},
}
_SHAPE = several(integer(1), "a list of sizes, such as [9]", empty=True)


@dataclass(frozen=True)
class FamilyPrior:
    """Independent draws from a family of distributions of two parameters: a function of a key, as `drawn` takes."""

    family: str
    parameters: tuple[float, float]
    shape: tuple[int, ...]

    def __call__(self, key: Any) -> Any:
        """Return float[shape]."""
        import jax

        first, second = self.parameters
        match self.family:
            case "beta":
                return jax.random.beta(key, first, second, self.shape)
            case "normal":
                return first + second * jax.random.normal(key, self.shape)
            case _:
                return jax.random.uniform(key, self.shape, minval=first, maxval=second)

    def to_dict(self) -> dict[str, Any]:
        """Return the table that is written in TOML."""
        names = zip(FAMILIES[self.family], self.parameters, strict=True)
        return {"prior": self.family, **dict(names), "shape": list(self.shape)}


def prior(where: str, value: Mapping[str, Any], parameter: Parameter) -> FamilyPrior:
    """Return the prior of an argument; `where` is its place in messages."""
    if not parameter.traced:
        refuse(where, f" = {show(value)}, cannot be drawn, because it is static; give one value")
    family = check(f"{where}.prior", value["prior"], choice(FAMILIES))
    domains = FAMILIES[family]
    known(f"{where}.", value, ("prior", *domains, "shape"))
    for name in domains:
        if name not in value:
            refuse(f"{where}.{name}", f": missing, must be {domains[name].allowed}")
    first, second = (check(f"{where}.{name}", value[name], domain) for name, domain in domains.items())
    if family == "uniform" and second <= first:
        refuse(f"{where}.high", f" = {show(second)}, must be larger than low = {show(first)}")
    shape = tuple(check(f"{where}.shape", value.get("shape", []), _SHAPE))
    return FamilyPrior(family, (first, second), shape)
