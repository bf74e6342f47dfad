//! Random shortening of times, so that entries that were stored at one moment do not all end at one moment.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A share of a time, in percent: the most that is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share(pub(crate) u8);

/// One session's source of randomness: xorshift, which is enough to spread times.
#[derive(Debug)]
pub(crate) struct Jitter(u64);

impl Default for Jitter {
    fn default() -> Self {
        // The state of an xorshift must not be 0.
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl Jitter {
    /// The time without a random part of this share.
    pub(crate) fn shorten(&mut self, time: Duration, share: Share) -> Duration {
        if share.0 == 0 {
            return time;
        }
        time.mul_f64(1.0 - self.draw() * f64::from(share.0.min(100)) / 100.0)
    }

    /// A number from 0 to 1, without 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits are exact")]
    pub(crate) fn draw(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f64 / f64::from(1 << 24)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_loses_at_most_its_share_and_is_spread_over_it() {
        let mut jitter = Jitter::default();
        let second = Duration::from_secs(1);
        assert_eq!(jitter.shorten(second, Share(0)), second);
        let drawn: Vec<_> = (0..1000).map(|_| jitter.shorten(second, Share(10))).collect();
        let bounds = Duration::from_millis(900)..=second;
        assert!(drawn.iter().all(|time| bounds.contains(time)), "{drawn:?}");
        let least = drawn.iter().min().unwrap();
        let most = drawn.iter().max().unwrap();
        assert!(*most > *least + Duration::from_millis(80), "{least:?} to {most:?}");
    }
}
