//! The form of a TTL on the wire.

use std::time::Duration;

/// Up to this many seconds a number on the wire is relative; above it, it is a date (seconds since 1970).
pub const LONGEST_RELATIVE: u64 = 30 * 24 * 60 * 60;

/// The last date that the wire can carry: memcached reads 32 bits with a sign. A later date becomes this one.
const LAST_DATE: u64 = i32::MAX as u64;

/// The number that stands for `ttl`, rounded up to whole seconds: 0 means for ever, a negative number an end that has
/// passed already. `unix_now_s` is called only where the number must be a date.
pub fn exptime(ttl: Option<Duration>, unix_now_s: impl FnOnce() -> u64) -> i64 {
    let Some(ttl) = ttl else { return 0 };
    if ttl.is_zero() {
        return -1;
    }
    let seconds = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
    let number = if seconds <= LONGEST_RELATIVE {
        seconds
    } else {
        unix_now_s().saturating_add(seconds).min(LAST_DATE)
    };
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The TTL that a number on the wire stands for, at this time: `None` means for ever, zero that the end has passed already.
pub fn of_exptime(exptime: i64, unix_now_s: impl FnOnce() -> u64) -> Option<Duration> {
    match u64::try_from(exptime) {
        Ok(0) => None,
        Ok(seconds) if seconds <= LONGEST_RELATIVE => Some(Duration::from_secs(seconds)),
        Ok(date) => Some(Duration::from_secs(date.saturating_sub(unix_now_s()))),
        Err(_) => Some(Duration::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn wire(ttl: Duration) -> i64 {
        exptime(Some(ttl), || NOW)
    }

    #[test]
    fn whole_seconds_rounded_up() {
        assert_eq!(exptime(None, || NOW), 0);
        assert_eq!(wire(Duration::ZERO), -1);
        assert_eq!(wire(Duration::from_nanos(1)), 1);
        assert_eq!(wire(Duration::from_mins(1)), 60);
        assert_eq!(wire(Duration::from_millis(1001)), 2);
    }

    #[test]
    fn beyond_30_days_it_is_a_date() {
        assert_eq!(wire(Duration::from_secs(LONGEST_RELATIVE)), 2_592_000);
        assert_eq!(wire(Duration::from_secs(LONGEST_RELATIVE + 1)), 1_802_592_001);
        assert_eq!(wire(Duration::from_millis(2_592_000_001)), 1_802_592_001);
        assert_eq!(wire(Duration::MAX), i64::from(i32::MAX));
    }

    #[test]
    fn a_number_is_read_as_it_was_meant() {
        for (number, seconds) in
            [(-1, Some(0)), (0, None), (60, Some(60)), (2_592_000, Some(2_592_000))]
        {
            assert_eq!(of_exptime(number, || NOW), seconds.map(Duration::from_secs), "{number}");
        }
        assert_eq!(of_exptime(1_800_000_009, || NOW), Some(Duration::from_secs(9)));
        assert_eq!(of_exptime(1_799_999_999, || NOW), Some(Duration::ZERO));
        assert_eq!(of_exptime(i64::MIN, || NOW), Some(Duration::ZERO));
    }
}
