//! The bytes that name a lease on the server.

use std::hash::{BuildHasher, RandomState};

/// The bytes of a lease, by which the server knows it.
pub(super) type Id = [u8; 16];

/// Gives out the bytes of leases. They count from a random place among 2^128, so that no other session in any process
/// gives the same.
#[derive(Debug)]
pub(super) struct Ids {
    last: u128,
}

impl Ids {
    pub(super) fn new() -> Self {
        let half = || u128::from(RandomState::new().hash_one(std::process::id()));
        Self { last: half() << 64 | half() }
    }

    pub(super) fn next(&mut self) -> Id {
        self.last = self.last.wrapping_add(1);
        self.last.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_differ() {
        let mut ids = Ids { last: u128::MAX };
        assert_ne!(ids.next(), ids.next());
        assert_ne!(Ids::new().next(), Ids::new().next());
    }
}
