//! Counters of a store.

use serde::Serialize;

/// Counters of a store. `None` is "not known", never a false 0.
///
/// Counters (all but the levels `items`, `bytes`, `bytes_peak`, `allocated_bytes`, `capacity_bytes`, `mapped_bytes` and
/// `free_bytes`) only grow while the store is open; two readings are compared with [`Stats::since`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Gets that found their key.
    pub hits: Option<u64>,
    /// Gets that did not find their key.
    pub misses: Option<u64>,
    /// Values stored.
    pub sets: Option<u64>,
    /// Keys deleted.
    pub deletes: Option<u64>,
    /// Entries dropped to make room.
    pub evictions: Option<u64>,
    /// Entries dropped because their TTL had passed.
    pub expirations: Option<u64>,
    /// Connections that the sessions of this store have opened.
    pub connections: Option<u64>,
    /// Requests that the sessions of this store have sent and whose answers they wait for: commands of a server,
    /// statements of a database. An operation with more than one request does work that its caller does not see.
    pub requests_sent: Option<u64>,
    /// Entries held now.
    pub items: Option<u64>,
    /// Bytes that the entries take now, as the engine counts them.
    pub bytes: Option<u64>,
    /// The most bytes that entries took at once since the store was opened or last cleared, counted as `bytes` is.
    /// Known only for a store that tracks every moment, between two readings too.
    pub bytes_peak: Option<u64>,
    /// Bytes of memory that the store has taken for entries, with its room that no entry uses. Known only for a store that
    /// gives entries memory in larger pieces, and does not give it back: then this, not `bytes`, is what it costs.
    pub allocated_bytes: Option<u64>,
    /// Bytes that the store may take before it evicts or refuses.
    pub capacity_bytes: Option<u64>,
    /// Resident bytes of memory that the store has mapped for itself, beside the memory that it has allocated. `None`
    /// where the store maps no memory, or only files.
    pub mapped_bytes: Option<u64>,
    /// Bytes that new entries of any size may take before the store must drop or refuse entries. With several nodes,
    /// each counts with the free bytes of the fullest. The figure may be less than `capacity_bytes - bytes`: memory
    /// that is set aside for entries of one size is not free for entries of another.
    pub free_bytes: Option<u64>,
}

impl Stats {
    /// Gets answered, hit or miss.
    pub fn requests(&self) -> Option<u64> {
        Some(self.hits? + self.misses?)
    }

    /// Hits over requests, 0 to 1; `None` before the first request.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn hit_rate(&self) -> Option<f64> {
        let requests = self.requests().filter(|requests| *requests > 0)?;
        Some(self.hits? as f64 / requests as f64)
    }

    /// The changes since an earlier reading. Levels, such as `items`, keep their present values.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            hits: grown(self.hits, earlier.hits),
            misses: grown(self.misses, earlier.misses),
            sets: grown(self.sets, earlier.sets),
            deletes: grown(self.deletes, earlier.deletes),
            evictions: grown(self.evictions, earlier.evictions),
            expirations: grown(self.expirations, earlier.expirations),
            connections: grown(self.connections, earlier.connections),
            requests_sent: grown(self.requests_sent, earlier.requests_sent),
            ..*self
        }
    }
}

/// A figure that only one kind of store has: a counter such as `lock_repairs`, which only grows, or an
/// [amount](Counter::is_amount).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Words in lower case, joined by underscores; never a field of [`Stats`].
    pub name: &'static str,
    /// The number of times that the event happened, or the amount.
    pub value: u64,
}

impl Counter {
    /// Whether this is a number of bytes, which grows and falls: its name ends in `_bytes`.
    pub fn is_amount(&self) -> bool {
        self.name.ends_with("_bytes")
    }
}

/// The counters of one tier since the stack was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TierStats {
    /// The tier's level and its name: `L1 moka:`. L1 is the nearest.
    pub name: String,
    /// Gets that the tier answered.
    pub hits: u64,
    /// Gets that reached the tier and missed; a key that is too long for the tier is a miss.
    pub misses: u64,
    /// Of these: gets that it answered, and whose value its stack threw away.
    pub dropped: u64,
    /// Gets that came to it and failed.
    pub errors: u64,
    /// Gets that skipped the tier: it could not drop a key before and may hold a value that should be gone.
    pub not_asked: u64,
    /// Values that the tier stored because a tier below answered.
    pub fills: u64,
    /// Values that the tier stored because they were written.
    pub puts: u64,
    /// Values of either kind that the tier did not store.
    pub refused: u64,
}

impl TierStats {
    /// The changes since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            name: self.name.clone(),
            hits: self.hits.saturating_sub(earlier.hits),
            misses: self.misses.saturating_sub(earlier.misses),
            dropped: self.dropped.saturating_sub(earlier.dropped),
            errors: self.errors.saturating_sub(earlier.errors),
            not_asked: self.not_asked.saturating_sub(earlier.not_asked),
            fills: self.fills.saturating_sub(earlier.fills),
            puts: self.puts.saturating_sub(earlier.puts),
            refused: self.refused.saturating_sub(earlier.refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_stays_unknown() {
        let now = Stats { hits: Some(5), items: Some(3), ..Stats::default() };
        let then = Stats { hits: Some(2), misses: Some(1), items: Some(9), ..Stats::default() };
        let since = now.since(&then);
        assert_eq!((since.hits, since.misses, since.items), (Some(3), None, Some(3)));
        assert_eq!(since.hit_rate(), None);
    }
}
