//! Numbers of operations, keys and entries as text, and the errors of samples.

use crate::figures::{bytes, significant};
use crate::model::{Estimate, MeasuredIn};

/// An amount of things: `940`, `76.1 k`, `100 M`.
pub(crate) fn amount(value: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let fits = UNITS.iter().find(|(size, _)| value >= size * 0.9995 && value >= 9999.5);
    match fits {
        Some((size, unit)) => format!("{}{unit}", significant(value / size, 3)),
        None if value.fract() == 0.0 || value >= 100.0 => format!("{value:.0}"),
        None => significant(value, 3),
    }
}

/// The same of a whole number.
pub(crate) fn amount_of(count: u64) -> String {
    amount(float(count))
}

/// An amount with half of its interval: `763 k ±0.4 %`.
pub(crate) fn estimate(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    match estimate.ci95 {
        Some([_, high]) if estimate.value > 0.0 => {
            let percent = (high - estimate.value) / estimate.value * 100.0;
            format!("{} ±{} %", text(estimate.value), significant(percent, 2))
        }
        _ => text(estimate.value),
    }
}

/// Bytes that need not be whole.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an amount of bytes")]
pub(crate) fn bytes_of(value: f64) -> String {
    bytes(value.max(0.0).round() as u64)
}

/// A capacity in its unit: `64 MiB`, `20 k entries`.
pub(crate) fn capacity(measure: MeasuredIn, capacity: u64) -> String {
    match measure {
        MeasuredIn::Bytes => larder_store::ByteSize(capacity).to_string(),
        MeasuredIn::Entries => entries(capacity),
    }
}

/// A round number of entries without needless zeros: `500`, `20 k`.
pub(crate) fn entries(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, " G"), (1_000_000, " M"), (1000, " k")];
    let fits = UNITS.iter().find(|(size, _)| count >= *size && count.is_multiple_of(size / 1000));
    match fits {
        Some((size, unit)) if count >= 10_000 => format!("{}{unit}", float(count) / float(*size)),
        _ => count.to_string(),
    }
}

/// Points of a ratio: `0.3`.
pub(crate) fn points(share: f64) -> String {
    let points = share * 100.0;
    if points <= 0.0 {
        "0".to_owned()
    } else if points < 0.05 {
        "<0.1".to_owned()
    } else {
        format!("{points:.1}")
    }
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_whole_while_it_is_small() {
        for (value, text) in [
            (0.0, "0"),
            (3.25, "3.25"),
            (940.0, "940"),
            (9999.0, "9999"),
            (76_118.0, "76.1 k"),
            (999_600.0, "1.00 M"),
            (1e8, "100 M"),
            (2.5e9, "2.50 G"),
        ] {
            assert_eq!(amount(value), text);
        }
        assert_eq!(estimate(&Estimate::within(763_000.0, 3000.0), amount), "763 k ±0.39 %");
        assert_eq!(estimate(&Estimate::exact(12.0), amount), "12");
        assert_eq!(
            [500, 20_000, 12_345, 5_000_000].map(entries),
            ["500", "20 k", "12.345 k", "5 M"]
        );
        assert_eq!([0.003, 0.0002, 0.0].map(points), ["0.3", "<0.1", "0"]);
    }
}
