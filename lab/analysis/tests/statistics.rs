//! Compares the statistics with values of `SciPy`, statsmodels and pymannkendall, and with results of counting by hand.

use larder_analysis::statistics::{
    Difference, Drift, LEAST, holm, mann_kendall, mann_whitney, median, median_ci95, modified_z,
    outliers, quantile, ratio_ci95, sen_slope, within_rounds,
};
use larder_report::{PAIRED_FROM, Verdict, rounds_for_verdict, smallest_p};
use serde::Deserialize;

/// `data/statistics.py` computes these values.
#[derive(Deserialize)]
struct Expected {
    mann_whitney: Vec<Test>,
    holm: Vec<Correction>,
    quantile: Vec<Quantile>,
    median_ci95: Vec<MedianInterval>,
    ratio_ci95: Vec<RatioInterval>,
    within_rounds: Vec<Exchanges>,
    trend: Vec<InTime>,
    modified_z: Vec<Scores>,
}

#[derive(Deserialize)]
struct Test {
    a: Vec<f64>,
    b: Vec<f64>,
    method: String,
    p: f64,
}

#[derive(Deserialize)]
struct Correction {
    p: Vec<f64>,
    corrected: Vec<f64>,
}

#[derive(Deserialize)]
struct Quantile {
    values: Vec<f64>,
    q: f64,
    expected: f64,
}

#[derive(Deserialize)]
struct MedianInterval {
    values: Vec<f64>,
    ci95: [f64; 2],
}

#[derive(Deserialize)]
struct RatioInterval {
    a: Vec<f64>,
    b: Vec<f64>,
    ci95: [f64; 2],
}

#[derive(Deserialize)]
struct Exchanges {
    a: Vec<f64>,
    b: Vec<f64>,
    method: String,
    p: f64,
}

#[derive(Deserialize)]
struct InTime {
    values: Vec<f64>,
    method: String,
    tau: f64,
    p: f64,
    slope: f64,
}

#[derive(Deserialize)]
struct Scores {
    values: Vec<f64>,
    scores: Vec<f64>,
}

fn expected() -> Expected {
    serde_json::from_str(include_str!("data/statistics.json")).expect("made by statistics.py")
}

fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!((actual - expected).abs() <= expected.abs() * relative, "{actual} is not {expected}");
}

#[test]
fn quantiles_are_numpys() {
    let cases = expected().quantile;
    assert!(cases.len() > 20);
    for case in cases {
        assert_close(quantile(&case.values, case.q).unwrap(), case.expected, 1e-12);
    }
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[4.0, 1.0, 2.0]), Some(2.0));
}

#[test]
fn the_test_by_ranks_is_scipys_exact_and_approximate() {
    let cases = expected().mann_whitney;
    for method in ["exact", "asymptotic"] {
        assert!(cases.iter().filter(|case| case.method == method).count() >= 5, "{method}");
    }
    for case in cases {
        assert_close(mann_whitney(&case.a, &case.b), case.p, 1e-9);
        assert_close(mann_whitney(&case.b, &case.a), case.p, 1e-9);
    }
}

#[test]
fn equal_and_empty_samples_speak_against_nothing() {
    assert_close(mann_whitney(&[], &[1.0]), 1.0, 0.0);
    assert_close(mann_whitney(&[3.0; 8], &[3.0; 8]), 1.0, 0.0);
}

#[test]
fn the_smallest_p_is_that_of_samples_which_do_not_overlap() {
    for (n, m) in [(1, 1), (1, 9), (3, 3), (5, 5), (4, 7), (10, 10), (19, 20)] {
        let a: Vec<f64> = (0..n).map(f64::from).collect();
        let b: Vec<f64> = (0..m).map(|i| 100.0 + f64::from(i)).collect();
        assert_close(mann_whitney(&a, &b), smallest_p(a.len(), b.len()), 1e-9);
    }
    for n in [PAIRED_FROM, 33] {
        assert_close(within_rounds(&vec![(2.0, 1.0); n]), smallest_p(n, n), 1e-9);
    }
    assert_close(smallest_p(0, 5), 1.0, 0.0);
    assert_close(smallest_p(5, 5), 2.0 / 252.0, 1e-12);
}

#[test]
fn the_rounds_for_a_verdict_are_the_fewest_that_suffice() {
    // The smallest p of 4, 5 and 6 rounds is 2/70, 2/252 and 2/924: below 0.01 never, for one comparison, and for up to
    // four.
    for (comparisons, rounds) in [(0, 5), (1, 5), (2, 6), (4, 6), (5, 7)] {
        assert_eq!(rounds_for_verdict(0, comparisons), rounds, "{comparisons}");
    }
    for comparisons in [10, 1000, 1_000_000] {
        let rounds = rounds_for_verdict(0, comparisons);
        let least = |n| smallest_p(n, n) * f64::from(u32::try_from(comparisons).unwrap());
        assert!(
            least(rounds) < Verdict::SIGNIFICANCE && least(rounds - 1) >= Verdict::SIGNIFICANCE
        );
    }
}

#[test]
fn rounds_that_are_compared_in_pairs_may_need_more_than_fewer_by_rank() {
    let most_by_rank = PAIRED_FROM - 1;
    assert_eq!(rounds_for_verdict(most_by_rank, 10_000), most_by_rank);
    assert_eq!(rounds_for_verdict(PAIRED_FROM, 10_000), PAIRED_FROM + 1);
}

#[test]
fn holms_correction_is_statsmodels() {
    for case in expected().holm {
        let corrected = holm(&case.p);
        assert_eq!(corrected.len(), case.corrected.len());
        for (actual, expected) in corrected.into_iter().zip(case.corrected) {
            assert_close(actual, expected, 1e-12);
        }
    }
    assert_eq!(holm(&[]), Vec::<f64>::new());
}

#[test]
fn the_interval_of_the_median_is_the_exact_one_for_every_seed() {
    for case in expected().median_ci95 {
        for seed in 0..20 {
            let interval = (case.values.len() >= LEAST).then_some(case.ci95);
            assert_eq!(median_ci95(&case.values, seed), interval);
        }
    }
}

#[test]
fn fewer_than_six_values_have_no_interval() {
    assert_eq!(median_ci95(&[], 1), None);
    assert_eq!(median_ci95(&[7.0], 1), None);
    assert_eq!(median_ci95(&[9.0, 7.0, 8.0, 6.0, 5.0], 1), None, "too few for 95 %");
    assert_eq!(ratio_ci95(&[9.0], &[1.0, 2.0], 1), None);
    assert_eq!(ratio_ci95(&[9.0; 6], &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0], 1), None);
    assert_eq!(ratio_ci95(&[6.0; 6], &[2.0; 6], 1), Some([3.0, 3.0]));
}

#[test]
fn the_interval_of_a_ratio_is_scipys() {
    for case in expected().ratio_ci95 {
        let actual = ratio_ci95(&case.a, &case.b, 11).unwrap();
        let width = case.ci95[1] - case.ci95[0];
        for (actual, expected) in actual.into_iter().zip(case.ci95) {
            assert!((actual - expected).abs() < 0.1 * width, "{actual} is not {expected}");
        }
        assert_eq!(ratio_ci95(&case.a, &case.b, 11), Some(actual), "the seed decides");
    }
}

#[test]
fn a_verdict_needs_both_a_small_p_and_a_difference_that_matters() {
    let spread = |centre: f64| (0..10).map(|i| centre + f64::from(i) * 0.01).collect::<Vec<_>>();
    let slow = spread(100.0);
    let judge = |a: &[f64], b: &[f64]| {
        let difference = Difference::between(a, b, 5).unwrap();
        difference.verdict(holm(&[difference.p])[0])
    };
    assert_eq!(judge(&spread(110.0), &slow), Verdict::Faster);
    assert_eq!(judge(&slow, &spread(110.0)), Verdict::Slower);
    // The difference is sure, but below 2 %, in both directions.
    let nearly = spread(100.0 * (1.0 + 0.9 * Verdict::MIN_DIFFERENCE));
    assert!(mann_whitney(&nearly, &slow) < Verdict::SIGNIFICANCE);
    assert_eq!(judge(&nearly, &slow), Verdict::Indistinguishable);
    assert_eq!(judge(&slow, &nearly), Verdict::Indistinguishable);
    // The rates lie far apart, but three rounds prove nothing.
    assert_eq!(judge(&[300.0, 301.0, 302.0], &[1.0, 2.0, 3.0]), Verdict::Indistinguishable);
}

#[test]
fn a_difference_states_ratio_interval_and_p() {
    let a = [30.0, 32.0, 31.0, 29.0, 33.0, 31.0];
    let difference = Difference::between(&a, &[10.0, 11.0, 9.0, 10.5, 9.5, 10.0], 1).unwrap();
    assert_close(difference.ratio, 3.1, 1e-12);
    let [low, high] = difference.ci95.unwrap();
    assert!(low < 3.1 && high > 3.1);
    assert!(difference.p < 0.01);
    assert_eq!(Difference::between(&[], &[1.0], 1), None);
    assert_eq!(Difference::between(&[1.0], &[0.0], 1), None);
    let single = Difference::between(&[4.0], &[2.0], 1).unwrap();
    assert_eq!((single.ratio, single.ci95, single.p), (2.0, None, 1.0));
}

#[test]
fn the_test_within_rounds_is_scipys_exact_and_approximate() {
    let cases = expected().within_rounds;
    for method in ["exact", "asymptotic"] {
        assert!(cases.iter().filter(|case| case.method == method).count() >= 4, "{method}");
    }
    for case in cases {
        let pairs: Vec<(f64, f64)> = case.a.iter().copied().zip(case.b).collect();
        // The exact method rounds scores to a thousandth of the largest score.
        let exactness = if case.method == "exact" { 2e-3 } else { 1e-9 };
        assert_close(within_rounds(&pairs), case.p, exactness);
        let turned: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        assert_close(within_rounds(&turned), within_rounds(&pairs), 1e-12);
    }
    assert_close(within_rounds(&[]), 1.0, 0.0);
}

#[test]
fn the_test_for_a_trend_is_scipys_and_its_slope_sens() {
    let cases = expected().trend;
    for method in ["exact", "asymptotic"] {
        assert!(cases.iter().filter(|case| case.method == method).count() >= 3, "{method}");
    }
    for case in cases {
        let (tau, p) = mann_kendall(&case.values);
        assert_close(tau, case.tau, 1e-12);
        assert_close(p, case.p, 1e-9);
        let slope = sen_slope(&case.values).unwrap();
        assert!((slope - case.slope).abs() < 1e-9, "{slope} is not {}", case.slope);
    }
    assert_eq!(mann_kendall(&[1.0]), (0.0, 1.0));
    assert_close(mann_kendall(&[2.0; 40]).1, 1.0, 0.0);
}

#[test]
fn a_drift_is_told_with_how_far_it_went() {
    let falling: Vec<f64> = (0..10).map(|round| 1000.0 * 0.97_f64.powi(round)).collect();
    let drift = Drift::of(&falling).unwrap();
    assert_close(drift.tau, -1.0, 0.0);
    assert_close(drift.change, 0.97_f64.powi(9), 1e-9);
    assert!(drift.p < 1e-6, "{drift:?}");
    assert_eq!(Drift::of(&falling[..LEAST - 1]), None);
    assert_eq!(Drift::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 0.0]), None);
}

#[test]
fn scores_of_outliers_are_those_of_iglewicz_and_hoaglin() {
    for case in expected().modified_z {
        let scores = modified_z(&case.values).unwrap();
        assert_eq!(scores.len(), case.scores.len());
        for (actual, expected) in scores.into_iter().zip(case.scores) {
            assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
        }
    }
    assert_eq!(modified_z(&[1.0, 1.0, 1.0, 9.0]), None, "there is no unit");
}

#[test]
fn an_outlier_is_far_from_the_others_and_far_in_itself() {
    let mut rates = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 31.0];
    let found = outliers(&rates);
    assert_eq!(found.len(), 1, "{found:?}");
    let (at, ratio, score) = found[0];
    assert!(at == 7 && score < -3.5, "{found:?}");
    assert_close(ratio, 31.0 / 99.9, 1e-9);
    // A rate of 95 is far by its score, but five percent is too little.
    rates[7] = 95.0;
    assert!(modified_z(&rates).unwrap()[7] < -3.5 && outliers(&rates).is_empty());
    assert!(outliers(&[100.0, 101.0, 99.0, 100.5, 99.5, 31.0]).is_empty(), "too few");
}
