//! Times as databases and data frames write them in text: `2026-11-29 01:13:23.936448+00:00`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Microseconds since 1970, where a field has the form of a date with a time. A time without a zone is one of UTC.
///
/// # Errors
///
/// The reason, where a field of that form is no time, or is before 1970.
pub(super) fn micros(field: &[u8]) -> Option<Result<u64, String>> {
    let text = std::str::from_utf8(field).ok().filter(|text| is_date(text.as_bytes()))?;
    let text = text.strip_suffix(" UTC").unwrap_or(text);
    let utc = || {
        let time: DateTime = text.parse().ok()?;
        Offset::UTC.to_timestamp(time).ok()
    };
    let time = text.parse::<Timestamp>().ok().or_else(utc);
    Some(match time.map(|time| u64::try_from(time.as_microsecond())) {
        Some(Ok(us)) => Ok(us),
        Some(Err(_)) => Err(format!("time `{text}` is before 1970")),
        None => {
            Err(format!("time `{text}` is no date with a time, such as 2026-11-29T01:13:23.5Z"))
        }
    })
}

/// Whether a text begins as a date of four digits, two and two does. No number begins so.
fn is_date(text: &[u8]) -> bool {
    let (digits, dashes) = ([0, 1, 2, 3, 5, 6, 8, 9], [4, 7]);
    text.len() >= 10
        && text.len() <= 40
        && digits.iter().all(|at| text[*at].is_ascii_digit())
        && dashes.iter().all(|at| text[*at] == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_databases_and_data_frames_are_read() {
        let at = 1_795_914_803_936_448;
        for text in [
            "2026-11-29 01:13:23.936448+00:00", // pandas
            "2026-11-29T01:13:23.936448+0000",  // polars
            "2026-11-29 01:13:23.936448+00",    // DuckDB, PostgreSQL
            "2026-11-29 02:13:23.936448+01",
            "2026-11-29T01:13:23.936448Z",
            "2026-11-29 01:13:23.936448 UTC", // BigQuery
            "2026-11-29 01:13:23.936448",
            "2026-11-29 01:13:23.936448999+00:00",
        ] {
            assert_eq!(micros(text.as_bytes()), Some(Ok(at)), "{text}");
        }
        assert_eq!(micros(b"2026-11-29"), Some(Ok(1_795_910_400_000_000)));
        for number in ["1795914803.9", "20261129", "", "2026", "-1", "2026-1-29 01:13:23"] {
            assert_eq!(micros(number.as_bytes()), None, "{number}");
        }
        let reason = |text: &str| micros(text.as_bytes()).unwrap().unwrap_err();
        assert_eq!(reason("1969-12-31 23:59:59Z"), "time `1969-12-31 23:59:59Z` is before 1970");
        assert!(
            reason("2026-13-29 01:13:23").starts_with("time `2026-13-29 01:13:23` is no date with")
        );
    }
}
