//! The TTLs of requests.

use larder_protocol::ttl;

use crate::batch::NONE;

/// The TTL in seconds that a number of a request means at this time; 0 is for ever. An end that has passed counts as a
/// second.
pub(super) fn ttl_s(exptime: i64, now_ns: u64) -> u32 {
    let ttl = ttl::of_exptime(exptime, || now_ns / 1_000_000_000);
    ttl.map_or(0, |ttl| u32::try_from(ttl.as_secs()).unwrap_or(NONE - 1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_relative_whatever_the_request_says() {
        const NOW: u64 = 1_800_000_000;
        for (exptime, seconds) in
            [(0, 0), (60, 60), (-1, 1), (NOW.cast_signed() + 90, 90), (1_700_000_000, 1)]
        {
            assert_eq!(ttl_s(exptime, NOW * 1_000_000_000), seconds, "{exptime}");
        }
    }
}
