//! The cells of text formats as data frames write them: a missing value has a name, and a whole number may have a fraction of 0.

/// The names of a missing value, beside an empty field: those of pandas, R, SQL and PostgreSQL.
const MISSING: [&str; 6] = ["nan", "null", "none", "na", "<na>", "\\n"];

/// The largest whole number up to which a float has all whole numbers.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a field has no value.
pub(super) fn is_missing(field: &[u8]) -> bool {
    field.is_empty() || MISSING.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(field))
}

/// The whole number in a field, which data frames write as a float where the column has gaps: `72479.0`, `1e+06`.
pub(super) fn whole(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = match text.split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|digit| digit == b'0') => {
            digits
        }
        _ => text,
    };
    digits.parse().ok().or_else(|| {
        let number = decimal(field).filter(|number| number.fract() == 0.0 && *number <= EXACT)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        Some(number as u64)
    })
}

/// The number from 0 on in a field, with a fraction or an exponent.
pub(super) fn decimal(field: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_have_a_fraction_of_zero() {
        for (field, expected) in [
            ("72479", Some(72_479)),
            ("72479.0", Some(72_479)),
            ("72479.000", Some(72_479)),
            ("18446744073709551615.0", Some(u64::MAX)),
            ("1e+06", Some(1_000_000)),
            ("7.2479e4", Some(72_479)),
            ("1.8446744073709552e+19", None),
            ("0.5", None),
            ("-1", None),
            ("1.", Some(1)),
            (".0", Some(0)),
            ("inf", None),
            ("many", None),
            ("", None),
        ] {
            assert_eq!(whole(field.as_bytes()), expected, "{field}");
        }
    }

    #[test]
    fn a_missing_value_has_many_names() {
        for field in ["", "NaN", "nan", "NULL", "None", "NA", "<NA>", "\\N"] {
            assert!(is_missing(field.as_bytes()), "{field}");
        }
        for field in ["0", "nano", "n", "NaNs", "none of it"] {
            assert!(!is_missing(field.as_bytes()), "{field}");
        }
    }
}
