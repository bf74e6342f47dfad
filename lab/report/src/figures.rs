//! Figures as text: three significant figures and the unit that fits.
//!
//! A figure is rounded first and its unit chosen afterwards, so that 999.6 k never shows as `1000 k`.

pub use larder_store::{agreeing, count, noun_after};

/// Units of time, in nanoseconds.
const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];

/// The error of the arithmetic of shares. One operation of a trace is a larger share.
const ROUNDING: f64 = 1e-12;

/// Rounds to `digits` significant figures, written without an exponent: `1.24`, `0.0430`, `12300`.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "?".to_owned() };
    }
    let decimals = decimals(value, digits);
    format!("{:.decimals$}", rounded(value, digits))
}

/// Operations per second: `1.24 M/s`, `806 k/s`, `940 /s`.
pub fn rate(per_second: f64) -> String {
    let (size, unit) = rate_unit(per_second);
    format!("{} {unit}/s", significant(per_second / size, 3))
}

/// A rate with its interval in the same unit: `1.24 M/s [1.22–1.26]`.
pub fn rate_interval(per_second: f64, ci95: [f64; 2]) -> String {
    format!("{} [{}]", rate(per_second), rate_bounds(per_second, ci95))
}

/// The ends of a rate's interval, in the unit of the rate: `1.22–1.26`.
pub(crate) fn rate_bounds(per_second: f64, ci95: [f64; 2]) -> String {
    let (size, _) = rate_unit(per_second);
    let decimals = decimals(per_second / size, 3);
    let [low, high] = ci95.map(|bound| format!("{:.decimals$}", bound / size));
    format!("{low}–{high}")
}

/// An interval with an arm longer than the other by this factor is lopsided.
const LOPSIDED: f64 = 2.0;
/// Arms shorter than this share of their figure are shown as one, however unequal: the difference is negligible.
const SHORT_ARM: f64 = 0.1;

/// The spread of a rate: `±1.2 %`, or for a lopsided interval its ends in the unit of the rate: `[2.90–16.0]`. A `±`
/// that reaches below zero would mean impossible rates.
pub fn rate_spread(per_second: f64, ci95: [f64; 2]) -> String {
    if !is_lopsided(per_second, ci95) {
        return half_width(per_second, ci95);
    }
    let (size, _) = rate_unit(per_second);
    bracketed(ci95.map(|bound| bound / size))
}

/// The same for a span of time given in nanoseconds.
pub fn nanoseconds_spread(value: f64, ci95: [f64; 2]) -> String {
    if !is_lopsided(value, ci95) {
        return half_width(value, ci95);
    }
    let (size, _) = unit_of(value, &TIMES);
    bracketed(ci95.map(|bound| bound / size))
}

fn bracketed([low, high]: [f64; 2]) -> String {
    format!("[{}–{}]", significant(low, 3), significant(high, 3))
}

/// Whether one arm of an interval is so much longer than the other that a single `±` would mislead.
fn is_lopsided(value: f64, [low, high]: [f64; 2]) -> bool {
    let (below, above) = (value - low, high - value);
    let (short, long) = (below.min(above), below.max(above));
    long >= value || long > value * SHORT_ARM && long > short * LOPSIDED
}

/// The longer arm of the interval, as a share of the figure: `±1.2 %`.
fn half_width(value: f64, ci95: [f64; 2]) -> String {
    let percent = (ci95[1] - value).max(value - ci95[0]) / value * 100.0;
    match percent {
        p if p < 0.05 => "±<0.1 %".to_owned(),
        p if p < 9.95 => format!("±{p:.1} %"),
        p => format!("±{p:.0} %"),
    }
}

/// A span of time given in nanoseconds: `85 ns`, `1.24 µs`, `12.0 ms`. Below a microsecond a whole number keeps no
/// decimals, because the clock has none.
pub fn nanoseconds(value: f64) -> String {
    let (size, unit) = unit_of(value, &TIMES);
    if size <= 1.0 && value.fract() == 0.0 {
        return format!("{value:.0} ns");
    }
    format!("{} {unit}", significant(value / size, 3))
}

/// A span of time with its interval in the same unit: `12.3 µs [12.1–12.6]`.
pub fn nanoseconds_interval(value: f64, ci95: [f64; 2]) -> String {
    format!("{} [{}]", nanoseconds(value), nanoseconds_bounds(value, ci95))
}

/// The ends of a span's interval, in the unit of the span: `12.1–12.6`.
pub(crate) fn nanoseconds_bounds(value: f64, ci95: [f64; 2]) -> String {
    let (size, _) = unit_of(value, &TIMES);
    let whole = size <= 1.0 && value.fract() == 0.0;
    let decimals = if whole { 0 } else { decimals(value / size, 3) };
    let [low, high] = ci95.map(|bound| format!("{:.decimals$}", bound / size));
    format!("{low}–{high}")
}

/// The length of a run, given in seconds: `42.0 s`, `2 min 14 s`, `1 h 3 min`.
pub fn seconds(value: f64) -> String {
    let whole = value.round();
    let (minutes, hours) = ((whole / 60.0).floor(), (whole / 3600.0).floor());
    if value < 59.95 {
        nanoseconds(value * 1e9)
    } else if hours < 1.0 {
        format!("{minutes} min {} s", whole - minutes * 60.0)
    } else {
        format!("{hours} h {} min", minutes - hours * 60.0)
    }
}

/// An amount of memory or disk: `512 B`, `1.50 GiB`. Every unit is a power of 1024.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let (mut scaled, mut unit) = (value as f64 / 1024.0, 0);
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    // Up to 1023 of a unit takes four figures before the point.
    let text = if scaled >= 999.5 { format!("{scaled:.0}") } else { significant(scaled, 3) };
    format!("{text} {}", UNITS[unit])
}

/// One figure over another: `3.10×`.
pub fn ratio(value: f64) -> String {
    format!("{}×", significant(value, 3))
}

/// The interval of a ratio, with the decimals of the ratio: `[3.02–3.18]`.
pub fn interval(value: f64, ci95: [f64; 2]) -> String {
    let decimals = decimals(value, 3);
    let [low, high] = ci95.map(|bound| format!("{bound:.decimals$}"));
    format!("[{low}–{high}]")
}

/// A figure as a share of the best: `1.00×`, `0.43×`, `0.0043×`.
pub fn share(value: f64) -> String {
    if value >= 0.0995 { format!("{value:.2}×") } else { format!("{}×", significant(value, 2)) }
}

/// A part of a whole: `98.7 %`. Only the whole shows as `100 %`, and only nothing as `0 %`.
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    // A sum of shares may miss the whole by the error of its arithmetic.
    if part <= 0.0 || part >= 1.0 - ROUNDING {
        return format!("{percent:.0} %");
    }
    if percent < 0.0001 {
        return "<0.0001 %".to_owned();
    }
    if percent >= 99.9999 {
        return ">99.9999 %".to_owned();
    }
    let digits = (3..7).find(|digits| rounded(percent, *digits) < 100.0).unwrap_or(7);
    let text = significant(percent, digits);
    let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
    format!("{} %", text.trim_end_matches('.'))
}

/// A limit of a part of a whole, rounded up: `49 %`, `33.34 %`. No part up to the limit shows as more, neither by [`percent`] nor in the
/// tenths of a table.
pub fn at_most(limit: f64) -> String {
    // A figure that is off by the error of its arithmetic is no larger one.
    let hundredths = (limit * 1e4 - 1e-6).max(0.0).ceil() / 100.0;
    let tenths = (limit * 1e3).round() / 10.0;
    let text = format!("{:.2}", hundredths.max(tenths).clamp(0.0, 100.0));
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A probability in sentences: `p < 0.001`, `p = 0.034`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", significant(p, 2)) }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn rate_unit(per_second: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    unit_of(per_second, &UNITS)
}

/// The largest unit that the rounded figure fills, otherwise the smallest.
fn unit_of(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    let rounded = rounded(value, 3);
    let fits = units.iter().find(|(size, _)| rounded >= *size);
    *fits.unwrap_or(&units[units.len() - 1])
}

/// The value with only its first `digits` figures.
fn rounded(value: f64, digits: usize) -> f64 {
    exponential(value, digits).parse().unwrap_or(value)
}

/// The number of decimals that shows `digits` significant figures.
fn decimals(value: f64, digits: usize) -> usize {
    if value == 0.0 || !value.is_finite() {
        return digits.saturating_sub(1);
    }
    let text = exponential(value, digits);
    let exponent: i64 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let wanted = i64::try_from(digits).unwrap_or(0) - 1 - exponent;
    usize::try_from(wanted).unwrap_or(0)
}

fn exponential(value: f64, digits: usize) -> String {
    format!("{value:.*e}", digits.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_are_shown_whatever_the_size() {
        for (value, text) in [
            (0.0, "0"),
            (0.000_123_4, "0.000123"),
            (0.099_96, "0.100"),
            (0.9994, "0.999"),
            (0.9996, "1.00"),
            (1.0, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.94, "99.9"),
            (99.96, "100"),
            (999.4, "999"),
            (12_345.0, "12300"),
            (f64::NAN, "?"),
            (f64::INFINITY, "?"),
        ] {
            assert_eq!(significant(value, 3), text, "{value}");
        }
    }

    #[test]
    fn a_rate_rounds_before_it_chooses_its_unit() {
        for (value, text) in [
            (0.5, "0.500 /s"),
            (940.0, "940 /s"),
            (999.4, "999 /s"),
            (999.6, "1.00 k/s"),
            (1_241_000.0, "1.24 M/s"),
            (999_499.0, "999 k/s"),
            (999_500.0, "1.00 M/s"),
            (1e12, "1000 G/s"),
        ] {
            assert_eq!(rate(value), text, "{value}");
        }
        assert_eq!(rate_interval(1.24e6, [1.22e6, 1.2649e6]), "1.24 M/s [1.22–1.26]");
        assert_eq!(rate_interval(999_600.0, [990_000.0, 1.01e6]), "1.00 M/s [0.99–1.01]");
    }

    #[test]
    fn a_half_width_is_the_longer_arm_and_never_nothing() {
        assert_eq!(half_width(100.0, [99.0, 101.5]), "±1.5 %");
        assert_eq!(half_width(100.0, [87.6, 101.0]), "±12 %");
        assert_eq!(half_width(100.0, [99.99, 100.01]), "±<0.1 %");
        assert_eq!(half_width(100.0, [90.04, 100.0]), "±10 %");
    }

    #[test]
    fn a_lopsided_interval_is_told_by_its_ends() {
        assert_eq!(rate_spread(100.0, [99.0, 101.5]), "±1.5 %", "short arms");
        assert_eq!(rate_spread(100.0, [80.0, 130.0]), "±30 %");
        assert_eq!(rate_spread(3150.0, [2900.0, 16_040.0]), "[2.90–16.0]");
        assert_eq!(rate_spread(100.0, [20.0, 110.0]), "[20.0–110]");
        assert_eq!(rate_spread(100.0, [1.0, 200.0]), "[1.00–200]", "±100 % would reach zero");
        assert_eq!(nanoseconds_spread(12_000.0, [11_000.0, 40_000.0]), "[11.0–40.0]");
    }

    #[test]
    fn a_span_has_the_unit_that_fits_and_no_more_figures_than_the_clock() {
        for (value, text) in [
            (0.0, "0 ns"),
            (85.0, "85 ns"),
            (8.4, "8.40 ns"),
            (999.0, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1.00 ms"),
            (1.5e9, "1.50 s"),
            (123e9, "123 s"),
        ] {
            assert_eq!(nanoseconds(value), text, "{value}");
        }
        assert_eq!(nanoseconds_interval(12_345.0, [12_001.0, 12_600.0]), "12.3 µs [12.0–12.6]");
        assert_eq!(nanoseconds_interval(85.0, [84.0, 86.5]), "85 ns [84–86]");
        for (value, text) in [
            (0.25, "250 ms"),
            (42.04, "42.0 s"),
            (59.96, "1 min 0 s"),
            (134.4, "2 min 14 s"),
            (3599.6, "1 h 0 min"),
            (3780.0, "1 h 3 min"),
        ] {
            assert_eq!(seconds(value), text, "{value}");
        }
    }

    #[test]
    fn bytes_are_whole_until_a_kibibyte_and_never_1024_of_a_unit() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1000 * 1024, "1000 KiB"),
            (1_048_063, "1023 KiB"),
            (1_048_064, "1.00 MiB"),
            (2_222_080, "2.12 MiB"),
            (3 << 30, "3.00 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(bytes(value), text, "{value}");
        }
    }

    #[test]
    fn ratios_keep_the_decimals_of_the_figure_in_their_interval() {
        assert_eq!(ratio(3.1), "3.10×");
        assert_eq!(interval(3.1, [3.018, 3.182]), "[3.02–3.18]");
        assert_eq!(interval(41.04, [38.96, 43.0]), "[39.0–43.0]");
        assert_eq!(interval(1234.0, [1200.4, 1300.0]), "[1200–1300]");
        for (value, text) in [
            (1.0, "1.00×"),
            (0.9996, "1.00×"),
            (0.434, "0.43×"),
            (0.0996, "0.10×"),
            (0.0043, "0.0043×"),
        ] {
            assert_eq!(share(value), text, "{value}");
        }
    }

    #[test]
    fn only_the_whole_shows_as_a_hundred_percent_and_only_zero_as_zero() {
        for (part, text) in [
            (0.0, "0 %"),
            (1e-9, "<0.0001 %"),
            (0.0002, "0.02 %"),
            (0.5, "50 %"),
            (0.987_4, "98.7 %"),
            (0.9994, "99.9 %"),
            (0.9998, "99.98 %"),
            (0.999_996, "99.9996 %"),
            (0.999_999_9, ">99.9999 %"),
            (1.0 - f64::EPSILON, "100 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(part), text, "{part}");
        }
    }

    #[test]
    fn a_limit_is_never_below_its_share() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.333_333, "33.34 %"),
            (0.498, "49.8 %"),
            (0.498_6, "49.9 %"),
            (0.1 + 0.2, "30 %"),
            (0.000_02, "0.01 %"),
            (0.999_7, "100 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(at_most(share), text, "{share}");
        }
    }

    #[test]
    fn no_share_up_to_a_limit_shows_as_more() {
        let shown = |text: String| -> f64 {
            text.trim_end_matches(" %").trim_start_matches(['<', '>']).parse().unwrap()
        };
        // Ratios of all small numbers of reads, and of some large ones.
        for all in (1_u32..400).chain([9_999, 30_000, 1_000_003]) {
            let step = (all / 400).max(1);
            for part in (0..=all / step).map(|number| number * step) {
                let share = f64::from(part) / f64::from(all);
                let (ratio, limit) = (shown(percent(share)), shown(at_most(share)));
                assert!(ratio <= limit, "{part} of {all}: {ratio} % of at most {limit} %");
                let tenths: f64 = format!("{:.1}", share * 100.0).parse().unwrap();
                assert!(tenths <= limit, "{part} of {all}: {tenths} % of at most {limit} %");
            }
        }
    }

    #[test]
    fn words_follow_their_number() {
        assert_eq!(count(1, "round"), "1 round");
        assert_eq!(count(0, "round"), "0 rounds");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(probability(0.000_9), "p < 0.001");
        assert_eq!(probability(0.0341), "p = 0.034");
        assert_eq!(probability(1.0), "p = 1.0");
    }
}
