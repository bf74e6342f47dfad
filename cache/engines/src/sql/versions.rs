//! Versions for the entries that a session stores.

use std::hash::{BuildHasher, RandomState};

/// Gives out versions. They count from a random place among 2^63, so that no other session in any process gives the
/// same version.
#[derive(Debug)]
pub(super) struct Versions {
    last: i64,
}

impl Versions {
    pub(super) fn new() -> Self {
        let start = RandomState::new().hash_one(std::process::id());
        Self { last: start.cast_signed() & i64::MAX }
    }

    /// A version that no entry has had; never negative.
    pub(super) fn next(&mut self) -> i64 {
        self.last = self.last.wrapping_add(1) & i64::MAX;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_and_are_never_negative() {
        let mut versions = Versions { last: i64::MAX - 1 };
        assert_eq!([versions.next(), versions.next(), versions.next()], [i64::MAX, 0, 1]);
        assert_ne!(Versions::new().next(), Versions::new().next());
    }
}
