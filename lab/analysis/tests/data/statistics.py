"""Makes statistics.json, the values that tests/statistics.rs expects, with SciPy, statsmodels and pymannkendall.

Each function below says by which call its values were made.

    pip install scipy statsmodels pymannkendall && python3 statistics.py > statistics.json
"""

import json
import sys

import numpy as np
import pymannkendall
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


def within_rounds(a, b):
    """The scores by numpy; p by scipy.stats.permutation_test over all signs, or of many rounds by the normal distribution."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    n, width = len(a), min(5, len(a))
    starts = [min(max(i - 2, 0), n - width) for i in range(n)]
    usual = np.array([np.median(np.concatenate([a[s:s + width], b[s:s + width]])) for s in starts])
    a_far, b_far = a - usual, b - usual
    most = np.median(np.abs(np.concatenate([a_far, b_far])))
    scores = np.clip(a_far, -most, most) - np.clip(b_far, -most, most)
    if n > 50:
        method = "asymptotic"
        p = 2 * stats.norm.sf(abs(scores.sum()) / np.sqrt((scores**2).sum()))
    else:
        method = "exact"
        p = stats.permutation_test((scores,), np.sum, permutation_type="samples", n_resamples=np.inf).pvalue
    return {"a": a.tolist(), "b": b.tolist(), "method": method, "p": float(p)}


def spoilt(slower, n, share):
    """Logarithms of two targets' rates, of which a share of rounds is a third slower."""
    rates = rng.normal(0, 0.015, (2, n)) + np.array([[0], [-slower]])
    return np.round(rates - 0.4 * (rng.random((2, n)) < share), 6)


def trend(values):
    """pymannkendall.original_test for tau and, with ties or beyond 30 values, p; otherwise p by the exact method of
    scipy.stats.kendalltau against time. The slope by scipy.stats.theilslopes."""
    y = np.asarray(values, float)
    found = pymannkendall.original_test(y)
    exact = len(np.unique(y)) == len(y) and len(y) <= 30
    time = np.arange(len(y))
    p = stats.kendalltau(time, y, method="exact").pvalue if exact else found.p
    return {
        "values": y.tolist(),
        "method": "exact" if exact else "asymptotic",
        "tau": float(found.Tau),
        "p": float(p),
        "slope": float(stats.theilslopes(y, time).slope),
    }


def modified_z(values):
    """By scipy.stats.median_abs_deviation, as Iglewicz and Hoaglin define the score."""
    x = np.asarray(values, float)
    return {"values": x.tolist(), "scores": (0.6745 * (x - np.median(x)) / stats.median_abs_deviation(x)).tolist()}


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
        "made_by": f"SciPy {scipy.__version__}, statsmodels {statsmodels.__version__}, pymannkendall {pymannkendall.__version__}",
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
        # These draws come after all others, so that the values above stay the same.
        "within_rounds": [
            within_rounds([1, 3], [2, 5]),
            within_rounds([1, 2, 3], [1, 2, 3]),
            # Heights of 15 pairs of plants of maize as Darwin (1876) measured them, in eighths of an inch.
            within_rounds([188, 96, 168, 176, 153, 172, 177, 163, 146, 173, 186, 168, 177, 184, 96],
                          [139, 163, 160, 160, 147, 149, 149, 122, 132, 144, 130, 144, 102, 124, 144]),
            within_rounds(rounded(0.8, 16), rounded(0, 16)),
            within_rounds(rounded(0, 16) + np.arange(16), rounded(0.8, 16) + np.arange(16)),
            within_rounds(*spoilt(0.08, 16, 0.2)),
            within_rounds(*spoilt(0, 16, 0.2)),
            within_rounds(*spoilt(0.02, 12, 0.1)),
            within_rounds(*spoilt(0.08, 60, 0.3)),
            within_rounds(*spoilt(0, 60, 0.2)),
            within_rounds(*spoilt(0.01, 120, 0.1)),
            within_rounds(rounded(0, 51) + np.arange(51), rounded(0.5, 51) + np.arange(51)),
        ],
        "trend": [
            trend(ramp),
            trend(ramp[::-1]),
            trend([3, 1, 2, 5, 4, 6]),
            # Annual flow of the Nile at Aswan, 1871 to 1900 (R's data set Nile), in which equal years are ties.
            trend([1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020,
                   960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840]),
            trend(rounded(100, 10)),
            trend(np.round(100 + 0.2 * np.arange(30) + rng.normal(0, 1, 30), 6)),
            trend(rounded(100, 30)),
            trend([1, 1, 2, 2, 2, 3, 1, 4, 4, 5]),
            trend(np.round(100 - 0.05 * np.arange(60) + rng.normal(0, 1, 60), 6)),
        ],
        "modified_z": [
            # Two values far from eight others.
            modified_z([2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3]),
            modified_z(rounded(100, 9)),
            modified_z([1, 2, 3, 4, 5, 60]),
        ],
    },
    sys.stdout,
    separators=(", ", ": "),
)
print()
