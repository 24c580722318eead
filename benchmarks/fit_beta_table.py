"""Fit the coefficients in jaxbandit/theory/solvers/beta_table.csv: 3 seconds on one core, 260 MB.

`python benchmarks/fit_beta_table.py` prints them as they stand there; with --check it compares with the shipped one.
For 135 pairs a <= b, SciPy's quantiles give the signed root r(w) that jaxbandit/theory/solvers/beta.py defines. The
polynomial is fitted to r - w by least squares in the error of the distribution function, whose total variation is that
of a draw. A total variation adds absolute values and the largest one counts, so the fit is repeated 30 times with new
weights: of levels, so that squares act as absolute values, and of pairs, more where the error is large. The best is
kept.  With NumPy 2.4, SciPy 1.17 on x86-64 three of 297 last digits differ: the shipped ones were rounded twice.
Elsewhere single coefficients may differ, as they are badly determined: rounding in another order, by a second thread,
moves them by up to 0.6, the total variation from 8.3e-7 to 8.5e-7 (a, b >= 1) and 4.6e-5 to 5.3e-5 (below). Judge by
the latter.
"""

import os
import sys
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
import numpy as np
from numpy.polynomial.chebyshev import cheb2poly, chebvander
from numpy.polynomial.polynomial import polyval, polyval2d
from scipy import special, stats

SHIPPED = Path(__file__).parents[1] / "jaxbandit" / "theory" / "solvers" / "beta_table.csv"
DEGREE, X_DEGREE, Z_DEGREE, XZ_DEGREE = 10, 6, 5, 6  # in y, x, z, and x and z together
TERMS = [(p, q) for p in range(X_DEGREE + 1) for q in range(Z_DEGREE + 1) if p + q <= XZ_DEGREE]
NORMALS = np.linspace(-6.2, 6.2, 249)[::2]  # w; beyond lies less than 1e-9
DENSITY = stats.norm.pdf(NORMALS)
Y = NORMALS / np.sqrt(NORMALS**2 + 12)  # STRETCH in beta.py


def pairs():
    """Return [135, 3]: a, b, and how large a total variation may be, in units of that for a, b >= 1."""
    inverses, skews = ((1 - np.cos(np.linspace(0, np.pi, n))) / 2 for n in (12, 9))  # denser at the ends
    result = []
    for inverse in [*inverses[1:], 1.15, 1.4, 1.7, 2.0]:
        allowed = 1.0 if inverse < 1.02 else 60 * (inverse - 0.9)  # a < 1 is harder to fit and rarely asked for
        for skew in np.minimum(skews, 1 - 1e-5):  # at 1 b would be infinite
            result.append((1 / inverse, 1 / inverse * (1 + skew) / (1 - skew), allowed))
    return np.array(result)


def excess(t, ratio, known):
    """Return t - log(1 + t), from ratio = 1 + t where all its digits are known; near 0 by a series, to lose none."""
    r = np.where(np.abs(t) < 0.3, t / (2 + t), 0)
    series = r * r * polyval(r * r, [1 / k for k in range(3, 24, 2)])  # artanh(r) / r - 1
    log = np.where(known, np.log(ratio), np.log1p(np.where(known, 0, t)))
    return np.where(np.abs(t) < 0.3, r * (t - 2 * series), t - log)


def signed_root(a, b):
    """Return r(w) and dr/dw at NORMALS."""
    left, tail = NORMALS < 0, special.ndtr(-np.abs(NORMALS))
    # Each side from its own tail; x and y = 1 - x both, as either may be too near 1 to keep digits of the other.
    low, high = special.betaincinv(a, b, tail), special.betaincinv(b, a, tail)
    x_log, y_log = np.where(left, np.log(low), np.log1p(-high)), np.where(left, np.log1p(-low), np.log(high))
    total, mean, rest = a + b, a / (a + b), b / (a + b)
    d = np.where(left, low - mean, rest - high)
    deviance = mean * excess(d / mean, low / mean, left) + rest * excess(-d / rest, high / rest, ~left)
    r = np.sign(d) * np.sqrt(2 * total * np.maximum(deviance, 0))
    # With u = logit(x): r dr = total d du, and x^a y^b / B(a, b) is the density of u. At d = 0 the limit.
    du_dr = np.divide(r, total * d, out=np.full_like(r, 1 / np.sqrt(total * mean * rest)), where=d != 0)
    return r, DENSITY / (np.exp(a * x_log + b * y_log - special.betaln(a, b)) * du_dr)


def variables(a, b):
    """Return x and z of the table, and the factors of even and odd powers of y: mirroring a and b mirrors r."""
    inverse, skew = 1 / a + 1 / b, (b - a) / (a + b)
    return inverse / (1 + inverse / 4) / (2 / 3) - 1, 2 * skew * skew - 1, (np.sqrt(inverse) * skew, inverse)


def basis(a, b):
    """Return [levels, coefficients]: the terms of r - w; powers would be too nearly dependent, so Chebyshev's."""
    x, z, factors = variables(a, b)
    in_x, in_z, in_y = (np.squeeze(chebvander(v, n)) for v, n in ((x, X_DEGREE), (z, Z_DEGREE), (Y, DEGREE)))
    terms = np.array([in_x[p] * in_z[q] for p, q in TERMS])
    return np.concatenate([in_y[:, j, None] * (factors[j % 2] * terms) for j in range(DEGREE + 1)], axis=1)


def fit(laws, roots):
    """Return the coefficients of basis with the least largest total variation met, each pair's over its allowed."""
    # An error e of r moves the distribution function by e times the density of r, DENSITY / slope.
    density = np.array([DENSITY / slope for _, slope in roots])
    matrix = np.diff(density[:, :, None] * np.array([basis(a, b) for a, b, _ in laws]), axis=1)
    target = np.diff(density * np.array([r - NORMALS for r, _ in roots]))
    allowed, of_pairs, size, least = laws[:, 2], 1 / laws[:, 2], matrix.shape[2], np.inf
    between = np.maximum((DENSITY[1:] + DENSITY[:-1]) / 2, 1e-9) * (NORMALS[1] - NORMALS[0])
    of_levels = np.sqrt(1 / between)[None]  # chi squared, to begin with
    scale = np.sqrt(((matrix * of_levels[:, :, None]).reshape(-1, size) ** 2).sum(0))
    best = np.empty(0)
    for i in range(30):
        weights = of_levels * of_pairs[:, None]
        rows = (matrix * weights[:, :, None]).reshape(-1, size) / scale
        gram = rows.T @ rows
        gram += 1e-14 * np.trace(gram) / size * np.eye(size)  # keeps coefficients that hardly matter small
        solution = np.linalg.solve(gram, rows.T @ (target * weights).ravel()) / scale
        error = np.abs(matrix @ solution - target)
        ratio = error.sum(1) / 2 / allowed
        if ratio.max() < least:
            least, best = ratio.max(), solution
        if i < 15:  # then they stay, so that the weights of pairs settle
            of_levels = 1 / np.sqrt(error + 3e-9 * error.max(1, keepdims=True) + 1e-11)
        of_pairs = of_pairs * (ratio / ratio.mean()) ** 0.4
        of_pairs /= of_pairs.mean()
    return best


def as_powers(solution):
    """Return [p, q, j], the coefficients of x^p z^q y^j, from those of basis."""
    products = np.zeros((X_DEGREE + 1, Z_DEGREE + 1, DEGREE + 1))
    products[tuple(np.transpose(TERMS))] = solution.reshape(DEGREE + 1, -1).T
    x, z, y = ([np.pad(cheb2poly(e[: k + 1]), (0, n - k - 1)) for k, e in enumerate(np.eye(n))] for n in products.shape)
    return np.einsum("pqj,px,qz,jy->xzy", products, x, z, y)


def total_variation(powers, a, b, root):
    """Return that of one draw from Beta(a, b) by these coefficients."""
    (x, z, factors), (r, slope) = variables(a, b), root
    in_y = polyval2d(x, z, powers) * np.resize(factors, DEGREE + 1)
    return np.abs(np.diff(DENSITY / slope * (NORMALS + polyval(Y, in_y) - r))).sum() / 2


def written(powers):
    head = ",".join(["x", "z", *(f"y{j}" for j in range(DEGREE + 1))])
    return "\n".join([head, *(",".join([f"{p},{q}", *(f"{value:.8f}" for value in powers[p, q])]) for p, q in TERMS)])


def main():
    laws = pairs()
    roots = [signed_root(a, b) for a, b, _ in laws]
    powers = np.round(as_powers(fit(laws, roots)), 8)
    if "--check" not in sys.argv[1:]:
        print(written(powers))
        return
    shipped, easy = np.zeros_like(powers), laws[:, 0] > 0.99
    for p, q, *values in np.loadtxt(SHIPPED, delimiter=",", skiprows=1).tolist():
        shipped[int(p), int(q)] = values
    print(f"largest difference of a coefficient: {np.abs(powers - shipped).max():.1e}")
    for name, table in (("fitted now", powers), ("shipped", shipped)):
        reached = np.array([total_variation(table, a, b, root) for (a, b, _), root in zip(laws, roots, strict=True)])
        print(f"{name}: total variation at most {reached[easy].max():.2e} for a, b >= 1, {reached.max():.2e} below")


if __name__ == "__main__":
    main()
