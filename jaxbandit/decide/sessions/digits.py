"""Numbers of a certificate as text: bounds are rounded so that what is stated remains true."""

import math


def percent(share: float) -> str:
    """A share as a percentage of two digits, rounded up so that it remains a bound."""
    places = max(1 - math.floor(math.log10(100 * share)), 0)
    return f"{math.ceil(100 * share * 10**places - 1e-9) / 10**places:.{places}f} %"


def above(epsilon: float) -> str:
    """An epsilon with two significant digits, rounded up so that the statement remains true."""
    places = 1 - math.floor(math.log10(epsilon))
    scaled = math.ceil(epsilon * 10.0**places * (1 - 1e-12)) if places < 300 else epsilon
    return f"{scaled / 10.0**places:.2g}" if places < 300 else f"{epsilon:g}"


def number(value: float) -> str:
    """A number with four digits, - where it is not known."""
    return f"{value:.4g}" if math.isfinite(value) else "-"
