"""Words and numbers of certificates: bounds are rounded so that what is stated remains true."""

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


def statistic_name(quantile: float | None, worst: float | None = None) -> str:
    """Return the name of what is compared: the mean, a quantile, or the mean of the worst share."""
    if worst is not None:
        return f"mean of the worst {100 * worst:.4g} %"
    if quantile is None:
        return "mean"
    return "median" if quantile == 0.5 else f"{quantile:g}-quantile"


def rare_heading(coverage: float | None) -> str:
    """Return the heading of the sentences of `Certificate.rare_events`."""
    return (
        f"rare events that may be unseen (events fixed in advance, such as a failure; with probability {coverage:g} "
        "for all arms at once)"
    )
