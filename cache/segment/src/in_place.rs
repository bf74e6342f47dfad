//! Changes that are one store into an existing record: of its expiry, of its stale mark, and of a number.
//!
//! The changed words have checks of their own, so that no other word of the record is read or written. A reader finds the old
//! or the new word.

use std::sync::atomic::Ordering;

use crate::kind;
use crate::locked::{Locked, Present};
use crate::memory::fence;
use crate::number::Number;
use crate::partition::LATEST;
use crate::record::Header;
use crate::slot::count_use;

impl Locked<'_> {
    /// Gives an entry another expiry, and marks it as stale or not; returns its version.
    pub(crate) fn mark(
        &self,
        hash: u64,
        present: &Present<'_>,
        expiry: u64,
        is_stale: bool,
    ) -> u64 {
        let (memory, header) = (self.partition.memory, present.found.header);
        let latest = self.partition.note_at(present.segment, LATEST);
        memory.store(latest, memory.load(latest).max(expiry));
        // A process killed in between leaves a segment that is given back only after its last entry has
        // expired.
        fence(Ordering::Release);
        let stale = if is_stale { kind::STALE } else { 0 };
        let marked = Header { expiry, kind: header.kind & !kind::STALE | stale, ..header };
        let seal = self.partition.places.seal_of(&marked, hash, self.space_of(present));
        let word = Header { seal, ..marked }.second_word();
        self.change(hash, present, 8, word);
        self.version_with(present, &marked)
    }

    /// Replaces the number of an entry, and returns its version.
    pub(crate) fn set_number(&self, hash: u64, present: &Present<'_>, number: Number) -> u64 {
        let header = &present.found.header;
        let check =
            self.partition.places.check_of_number(header, number, hash, self.space_of(present));
        let word = number.with_check(check);
        self.partition.end_leases(hash, self.space_of(present), self.moment);
        self.change(hash, present, header.number_at(), word);
        self.version_with(present, &Header { number: word, ..*header })
    }

    /// The version of an entry whose header was changed to this one.
    fn version_with(&self, present: &Present<'_>, header: &Header) -> u64 {
        header.whole_version(|| self.partition.version_of(present.segment, present.slot))
    }

    /// Stores a word of an entry's record. From then on no older fill token succeeds, not even after a crash.
    fn change(&self, hash: u64, present: &Present<'_>, at: usize, word: u64) {
        self.partition.note_change(hash);
        let record = self.partition.base + present.slot.at();
        self.partition.memory.word(record + at).store(word, Ordering::Release);
        count_use(present.word, present.slot);
    }
}
