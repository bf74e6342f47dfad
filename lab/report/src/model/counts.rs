//! Counts of operations, in a cell, in a round and in the tiers of a stack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;

/// The outcomes of operations. `ops` = `hits` + `misses` + `wrong` + `errors` for an operation that reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Operations attempted; for `get_many`, `get_each` and `get_tag`, keys.
    pub ops: u64,
    /// Reads that returned the right value.
    pub hits: u64,
    /// Reads that found nothing; for `delete`, `touch` and `incr`, keys that were not there.
    pub misses: u64,
    /// Reads that returned something other than the stored value.
    pub wrong: u64,
    /// Of `misses`: reads of keys whose delete was acknowledged, without a set since. They are right, and count in rate
    /// and latency.
    #[serde(default)]
    pub planned_misses: u64,
    /// Of `misses`: operations on keys whose set was acknowledged, without a delete since, before any TTL can have
    /// passed. An eviction may explain them. Programs of other languages do not count them.
    #[serde(default)]
    pub stored_misses: u64,
    /// Of `hits` and `wrong`: reads that began when the TTL of their value had passed.
    #[serde(default)]
    pub outlived: u64,
    /// Of `wrong` and `read_back_wrong`: values with the right beginning, cut short.
    pub truncated: u64,
    /// Of `wrong` and `read_back_wrong`: whole values of the right key that are older than the last acknowledged one,
    /// or whose key has an acknowledged delete since.
    #[serde(default)]
    pub stale: u64,
    /// Of `wrong` and `read_back_wrong`: values of another key of this run.
    #[serde(default)]
    pub other_key: u64,
    /// Of `wrong` and `read_back_wrong`: bytes that are no value of this run, as after a flipped bit.
    #[serde(default)]
    pub damaged: u64,
    /// Operations that took longer than the histogram's largest value; they count as that value.
    #[serde(default)]
    pub clipped: u64,
    /// Operations that failed; they enter neither rate nor latency.
    pub errors: u64,
    /// Of `errors` and `failed_fills`: operations that were sent and whose answer never came, because the connection ended,
    /// was silent for too long, or was given up. It is not known whether they were carried out.
    #[serde(default)]
    pub lost: u64,
    /// Fills after a miss that the store did not acknowledge.
    pub failed_fills: u64,
    /// Fills whose value another thread made or stored after the read that missed had begun; 0 where making a value
    /// takes no time.
    #[serde(default)]
    pub repeated_loads: u64,
    /// Connections that were opened.
    pub connections: Option<u64>,
    /// Requests that the client sent and waited for: statements of a database, commands of a server.
    #[serde(default, alias = "requests")]
    pub wire_requests: Option<u64>,
    /// Entries that the store dropped to make room, by its own count.
    pub evictions: Option<u64>,
    /// Different keys that were used: the most in one round.
    pub distinct_keys: u64,
    /// Operations on the most frequent key: the most in one round.
    pub top_key_ops: u64,
    /// Keys whose set was acknowledged and that were read back afterwards.
    pub read_back: u64,
    /// Of `read_back`: keys that were absent.
    pub read_back_absent: u64,
    /// Of `read_back`, `overwritten` and `deletes_read_back`: wrong values, or values that should have been gone.
    pub read_back_wrong: u64,
    /// Keys that the read-back set again, to a newer version, and found. A key that was then gone is in
    /// `read_back_absent`.
    #[serde(default)]
    pub overwritten: u64,
    /// Keys that were there, but that the read-back could not set again.
    #[serde(default)]
    pub overwrites_failed: u64,
    /// Keys whose delete was acknowledged, and that the read-back looked for.
    #[serde(default)]
    pub deletes_read_back: u64,
    /// Keys that were looked for after the emptying at the end of a turn.
    #[serde(default)]
    pub emptied_checked: u64,
    /// Of `emptied_checked`: keys that were still there.
    #[serde(default)]
    pub emptied_left: u64,
}

impl Counts {
    /// Operations that failed, whose fill failed, or that came back with a wrong value.
    pub fn failed_or_wrong(&self) -> u64 {
        self.errors + self.failed_fills + self.wrong
    }

    /// Wrong values of an unknown kind: those of older versions, and of guests that do not tell the kind.
    pub fn wrong_unnamed(&self) -> u64 {
        let named = self.truncated + self.stale + self.other_key + self.damaged;
        (self.wrong + self.read_back_wrong).saturating_sub(named)
    }

    /// Misses of keys that the run had not deleted.
    pub fn unplanned_misses(&self) -> u64 {
        self.misses.saturating_sub(self.planned_misses)
    }

    /// Answers that were compared with the stored state: values, and the absence of deleted keys.
    pub fn compared(&self) -> u64 {
        let found = self.read_back.saturating_sub(self.read_back_absent);
        self.hits
            + self.planned_misses
            + self.wrong
            + found
            + self.overwritten
            + self.deletes_read_back
    }

    /// Right answers among these.
    pub fn right(&self) -> u64 {
        self.compared().saturating_sub(self.wrong + self.read_back_wrong)
    }

    /// Operations with a right answer, hits and misses. `None` for an operation that cannot miss.
    pub fn answered(&self, operation: Operation) -> Option<u64> {
        let failed = self.wrong + self.errors + self.failed_fills;
        // A set misses where it has a condition.
        (operation.can_miss() || self.misses > 0).then(|| self.ops.saturating_sub(failed))
    }

    /// Adds another round: totals grow, and "the most in one round" keeps the larger.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        *self = Self {
            ops: self.ops + other.ops,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            planned_misses: self.planned_misses + other.planned_misses,
            stored_misses: self.stored_misses + other.stored_misses,
            outlived: self.outlived + other.outlived,
            wrong: self.wrong + other.wrong,
            truncated: self.truncated + other.truncated,
            stale: self.stale + other.stale,
            other_key: self.other_key + other.other_key,
            damaged: self.damaged + other.damaged,
            clipped: self.clipped + other.clipped,
            errors: self.errors + other.errors,
            lost: self.lost + other.lost,
            failed_fills: self.failed_fills + other.failed_fills,
            repeated_loads: self.repeated_loads + other.repeated_loads,
            connections: sum(self.connections, other.connections),
            wire_requests: sum(self.wire_requests, other.wire_requests),
            evictions: sum(self.evictions, other.evictions),
            distinct_keys: self.distinct_keys.max(other.distinct_keys),
            top_key_ops: self.top_key_ops.max(other.top_key_ops),
            read_back: self.read_back + other.read_back,
            read_back_absent: self.read_back_absent + other.read_back_absent,
            read_back_wrong: self.read_back_wrong + other.read_back_wrong,
            overwritten: self.overwritten + other.overwritten,
            overwrites_failed: self.overwrites_failed + other.overwrites_failed,
            deletes_read_back: self.deletes_read_back + other.deletes_read_back,
            emptied_checked: self.emptied_checked + other.emptied_checked,
            emptied_left: self.emptied_left + other.emptied_left,
        };
    }
}

/// The counters of one tier of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierCounts {
    /// Its place and its engine: `L1 moka:`. L1 is the nearest.
    pub name: String,
    /// Keys that the tier answered.
    pub hits: u64,
    /// Keys that reached the tier and that it did not have.
    pub misses: u64,
    /// Of these: keys that it answered and whose value the stack threw away, as an option asks, to repeat a mistake.
    #[serde(default)]
    pub dropped: u64,
    /// Keys that reached the tier and for which it failed. In runs of older versions they are in `misses`.
    #[serde(default)]
    pub errors: u64,
    /// Keys that the tier was not asked for: it had failed to drop a key, and might have returned an outdated value.
    #[serde(default)]
    pub not_asked: u64,
    /// Values that the tier took because a lower tier answered.
    pub fills: u64,
    /// Values that the tier took because they were written; 0 in runs of older versions.
    #[serde(default)]
    pub puts: u64,
    /// Values of either kind that the tier did not take.
    pub refused: u64,
}

impl TierCounts {
    /// Adds the counters of another round to those of the same tiers.
    pub fn add_all(tiers: &mut Vec<Self>, others: &[Self]) {
        for (i, other) in others.iter().enumerate() {
            match tiers.get_mut(i) {
                None => tiers.push(other.clone()),
                Some(tier) => {
                    tier.hits += other.hits;
                    tier.misses += other.misses;
                    tier.dropped += other.dropped;
                    tier.errors += other.errors;
                    tier.not_asked += other.not_asked;
                    tier.fills += other.fills;
                    tier.puts += other.puts;
                    tier.refused += other.refused;
                }
            }
        }
    }

    /// Keys that reached the tier, whether it was asked for them or not.
    pub fn lookups(&self) -> u64 {
        self.hits + self.misses + self.errors + self.not_asked
    }

    /// Values that were offered to the tier: those that a lower tier answered, and those that were written.
    pub fn values(&self) -> u64 {
        self.fills + self.puts + self.refused
    }
}
