//! Figures as the narrow columns of a table show them: three digits or more, and never more than seven signs.

use std::time::Duration;

/// The sign in place of an unknown figure.
pub(crate) const UNKNOWN: &str = "-";

/// A figure where it is known.
pub(crate) fn known(figure: Option<f64>, shown: impl FnOnce(f64) -> String) -> String {
    figure.filter(|figure| figure.is_finite()).map_or_else(|| UNKNOWN.to_owned(), shown)
}

/// A number or a rate: `0`, `0.25`, `3.2`, `99999`, `123k`, `1.23M`. Only zero is shown as zero.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.005 => (if value > 0.0 { "<0.01" } else { ">-0.01" }).to_owned(),
        size if size < 0.995 => format!("{value:.2}"),
        size if size < 9.95 => without_zero_fraction(format!("{value:.1}")),
        size if size < 99_999.5 => format!("{value:.0}"),
        _ => scaled(value, 1000.0, &["k", "M", "G", "T", "P", "E"]),
    }
}

/// A number of bytes in powers of 1024: `512B`, `1.50K`, `64M`.
pub(crate) fn bytes(value: f64) -> String {
    if value.abs() < 1023.5 {
        return format!("{value:.0}B");
    }
    scaled(value, 1024.0, &["K", "M", "G", "T", "P", "E"])
}

/// A number in the unit that gives it three digits.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value / step, 0);
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{}{}", without_zero_fraction(format!("{value:.decimals$}")), units[unit])
}

/// A number without a fraction of zero.
fn without_zero_fraction(text: String) -> String {
    match text.trim_end_matches('0').strip_suffix('.') {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A share: `0%`, `7.3%`, `99.98%`, `100%`. Only a full share is shown as full, and only an empty one as empty.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let text = match value {
        0.0 => "0".to_owned(),
        100.0 => "100".to_owned(),
        _ if value < 0.1 => "<0.1".to_owned(),
        _ if value > 99.99 && value < 100.0 => ">99.99".to_owned(),
        _ if value > 99.0 && value < 100.0 => format!("{value:.2}"),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    };
    format!("{text}%")
}

/// A latency in microseconds: `85us`, `1.2ms`, `3.40s`.
pub(crate) fn latency(microseconds: f64) -> String {
    match microseconds {
        us if us < 999.5 => format!("{}us", number(us)),
        us if us < 999_500.0 => format!("{}ms", number(us / 1e3)),
        us => format!("{}s", number(us / 1e6)),
    }
}

/// A time that a server is up: `45s`, `3m20s`, `5h07m`, `12d03h`, `1234d`.
pub(crate) fn up_time(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a negative time saturates to zero"
    )]
    let seconds = seconds as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match days {
        100.. => format!("{days}d"),
        1.. => format!("{days}d{:02}h", hours % 24),
        0 if hours > 0 => format!("{hours}h{:02}m", minutes % 60),
        0 if minutes > 0 => format!("{minutes}m{:02}s", seconds % 60),
        0 => format!("{seconds}s"),
    }
}

/// An interval as a person types it: `250ms`, `1s`, `10m`, `1h`.
pub(crate) fn span(span: Duration) -> String {
    let units = [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1000, "ms")];
    let micros = span.as_micros();
    let fits = |unit: &&(u128, &str)| micros > 0 && micros.is_multiple_of(unit.0);
    match units.iter().find(fits) {
        Some((size, unit)) => format!("{}{unit}", micros / size),
        None => format!("{span:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_more() {
        let shown =
            [0.0, 0.001, 0.25, 3.25, 9.99, 10.4, 99_999.0, 123_456.0, 1e6, 1.5e6, 999_999.0, 2e9];
        let shown = shown.map(number);
        assert_eq!(
            shown,
            ["0", "<0.01", "0.25", "3.2", "10", "10", "99999", "123k", "1M", "1.50M", "1M", "2G"]
        );
        assert_eq!(number(-3.0), "-3");
        assert_eq!([-0.001, -0.25].map(number), [">-0.01", "-0.25"]);
    }

    #[test]
    fn bytes_have_powers_of_1024() {
        let shown = [0.0, 1023.0, 1024.0, 1536.0, 67_108_864.0, 1.1e12].map(bytes);
        assert_eq!(shown, ["0B", "1023B", "1K", "1.50K", "64M", "1T"]);
    }

    #[test]
    fn only_a_full_share_is_full_and_only_an_empty_one_is_empty() {
        let shown = [0.0, 0.0001, 0.073, 0.5, 0.9951, 0.999_999, 1.0, 1.5].map(percent);
        assert_eq!(shown, ["0%", "<0.1%", "7.3%", "50.0%", "99.51%", ">99.99%", "100%", "150%"]);
    }

    #[test]
    fn times_have_the_unit_of_their_size() {
        assert_eq!([85.0, 1200.0, 3.4e6].map(latency), ["85us", "1.2ms", "3.4s"]);
        let shown = [45.0, 200.0, 18_420.0, 1_047_600.0, 1e8, -1.0].map(up_time);
        assert_eq!(shown, ["45s", "3m20s", "5h07m", "12d03h", "1157d", "0s"]);
        let spans = [100, 1000, 1500, 60_000, 3_600_000].map(Duration::from_millis).map(span);
        assert_eq!(spans, ["100ms", "1s", "1500ms", "1m", "1h"]);
        assert_eq!(span(Duration::from_nanos(50)), "50ns");
    }

    #[test]
    fn an_unknown_figure_is_no_zero() {
        assert_eq!(known(None, number), "-");
        assert_eq!(known(Some(f64::NAN), number), "-");
        assert_eq!(known(Some(1.0), number), "1");
    }
}
