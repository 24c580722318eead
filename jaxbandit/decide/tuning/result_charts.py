"""What only a report has room for of a search: how many configurations were left in each batch, and their scores."""

from collections.abc import Mapping

import numpy as np

from jaxbandit.support.document import Block, Chart, Curve, Table, fold, is_wide

DRAWN = 40  # configurations in the chart of scores
LONG = 20  # batches from which on their table is folded


def by_batch(history: Mapping[str, np.ndarray], count: int) -> list[Block]:
    """Return how many of the configurations were trained in each batch, as a chart and as a table."""
    pairs = np.unique(np.stack([history["batch"], history["config"]]), axis=1)
    batches, left = np.unique(pairs[0], return_counts=True)
    trainings = np.unique(history["batch"], return_counts=True)[1]
    title = (
        f"Configurations trained in each batch, out of {count:,}; a batch is the training runs between two decisions"
    )
    curve = Curve("configurations", 0, np.append(batches + 1, batches[-1] + 2), np.append(left, left[-1]))
    chart = Chart(title, "batch of training runs", "configurations", [curve], shape="step", log_y=is_wide(left))
    rows = [tuple(f"{int(n):,}" for n in row) for row in zip(batches + 1, left, trainings, strict=True)]
    head = ("batch", "configurations trained", "training runs")
    table = Table(head, rows, right=range(3), caption="Configurations by batch")
    return [chart, table if len(rows) <= LONG else fold("Table: configurations by batch", table)]


def scores(table: Mapping[str, np.ndarray], ranking: np.ndarray, chosen: int, what: str) -> Chart:
    """Return a chart of what the first configurations of a ranking are judged by, with intervals.

    Args:
      table: columns with one row for each configuration, as `TuneResult.table` has them.
      ranking: numbers of the configurations.
      chosen: number of the one in a color of its own.
      what: what is compared, in the plural, for the title.
    """
    value = table.get("quantile", table.get("worst", table["mean"]))
    drawn, curves = ranking[np.isfinite(value[ranking])][:DRAWN], []
    for label, order, some in (("chosen", 1, drawn == chosen), ("other configurations", 0, drawn != chosen)):
        arms = drawn[some]
        ends = [np.where(np.isfinite(table[end][arms]), table[end][arms], value[arms]) for end in ("low", "high")]
        curves.append(Curve(label, order, np.flatnonzero(some), value[arms], *ends))
    first = f", the first {DRAWN} of {len(ranking):,}" if len(ranking) > DRAWN else ""
    title = f"{what} of configurations with their intervals, survivors first, then by score{first}"
    names = [str(arm) for arm in drawn.tolist()]
    return Chart(title, "configuration", "score", curves, shape="marks", log_x=None, log_y=None, names=names)
