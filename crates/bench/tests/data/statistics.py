"""Makes statistics.json, the values that tests/statistics.rs expects, with SciPy and statsmodels.

    pip install scipy statsmodels && python3 statistics.py > statistics.json
"""

import json
import sys

import numpy as np
import scipy
import statsmodels
from scipy import special, stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20240501)


def mann_whitney(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    ties = len(np.unique(np.concatenate([a, b]))) < len(a) + len(b)
    method = "asymptotic" if ties or max(len(a), len(b)) > 20 else "exact"
    p = stats.mannwhitneyu(a, b, alternative="two-sided", method=method, use_continuity=True).pvalue
    return {"a": a.tolist(), "b": b.tolist(), "method": method, "p": float(p)}


def rounded(mean, n):
    return np.round(rng.normal(mean, 1, n), 6)


def median_ci95(values):
    """The exact percentile-bootstrap interval of the median of an odd number of values.

    The median of a resample is at most the k-th smallest value when at least half of its draws are.
    """
    values = np.sort(values)
    n = len(values)
    below = stats.binom.sf(n // 2, n, np.arange(1, n + 1) / n)
    # No step of the distribution lies so near a limit that 2000 draws could miss it.
    assert min(abs(below - 0.025)) > 0.01 and min(abs(below - 0.975)) > 0.01, (n, below)
    return {
        "values": values.tolist(),
        "ci95": [float(values[np.searchsorted(below, q)]) for q in (0.025, 0.975)],
    }


def ratio_ci95(a, b):
    result = stats.bootstrap(
        (a, b),
        lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
        vectorized=True,
        method="percentile",
        n_resamples=200_000,
        rng=1,
    ).confidence_interval
    return {"a": a.tolist(), "b": b.tolist(), "ci95": [float(result.low), float(result.high)]}


def quantile(values, q):
    return {"values": values, "q": q, "expected": float(np.quantile(values, q))}


def holm(p):
    return {"p": p, "corrected": multipletests(p, method="holm")[1].tolist()}


ramp = list(range(1, 11))
tests = [
    mann_whitney([1, 2, 3], [4, 5, 6]),
    mann_whitney([7], [1, 2, 3]),
    mann_whitney([1], [2]),
    mann_whitney([1, 4, 5], [2, 3, 6]),
    mann_whitney([19, 22, 16, 29, 24], [20, 11, 17, 12]),
    mann_whitney(ramp, [v + 10 for v in ramp]),
    mann_whitney(rounded(0, 3), rounded(1, 12)),
    mann_whitney(rounded(0, 10), rounded(1, 10)),
    mann_whitney(rounded(0, 20), rounded(0.5, 20)),
    mann_whitney(rounded(0, 20), rounded(1.5, 13)),
    mann_whitney([1, 1, 2, 3], [1, 2, 2, 4]),
    mann_whitney([5] * 6, [5, 5, 5, 5, 6, 7]),
    mann_whitney([1, 2, 2, 3, 3, 3, 4] * 3, [2, 3, 3, 4, 4, 5, 9] * 3),
    mann_whitney(rounded(0, 21), rounded(0.4, 8)),
    mann_whitney(rounded(0, 60), rounded(0.3, 50)),
    mann_whitney(rounded(0, 60), rounded(5, 60)),
]

json.dump(
    {
        "made_by": f"SciPy {scipy.__version__}, statsmodels {statsmodels.__version__}",
        "mann_whitney": tests,
        "holm": [
            holm([0.01, 0.04, 0.03, 0.005]),
            holm([0.2, 0.001, 0.001, 0.9, 0.5]),
            holm([0.6, 0.7]),
            holm([0.003]),
        ],
        "quantile": [
            quantile(values, q)
            for values in ([3.0], [2.0, 1.0], [9.5, 1.25, 4.0, 7.75], [5.0, 5.0, 1.0, 3.0, 2.0])
            for q in (0.0, 0.025, 0.25, 0.5, 0.9, 1.0)
        ],
        "erfc": [[x, float(special.erfc(x))] for x in (-3, -0.5, 0, 1e-9, 0.3, 1, 1.99, 2, 2.5, 6, 20)],
        "median_ci95": [median_ci95(np.round(rng.lognormal(10, 0.2, n), 3)) for n in (3, 5, 7, 11, 19)],
        "ratio_ci95": [
            ratio_ci95(np.round(rng.lognormal(10, 0.05, n), 3), np.round(rng.lognormal(9.5, 0.05, m), 3))
            for n, m in ((10, 10), (9, 15), (30, 25))
        ],
    },
    sys.stdout,
    separators=(", ", ": "),
)
print()
