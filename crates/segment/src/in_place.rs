//! Changes that are one store into a record that is there: of its expiry, of the mark that it is stale, and of a number.
//!
//! The words that are changed have checks of their own, so that nothing else of the record is read or written. A reader finds
//! the word of before or of after.

use std::sync::atomic::Ordering;

use crate::index::count_use;
use crate::locked::{Locked, Present};
use crate::memory::fence;
use crate::number::Number;
use crate::partition::LATEST;
use crate::record::{Header, kind};

impl Locked<'_> {
    /// Gives an entry another expiry, and marks it as stale or not.
    pub(crate) fn mark(&self, hash: u64, present: &Present<'_>, expiry: u64, is_stale: bool) {
        let (memory, header) = (self.partition.memory, present.found.header);
        let latest = self.partition.note_at(present.segment, LATEST);
        memory.store(latest, memory.load(latest).max(expiry));
        // A process killed in between leaves a segment that is not given back before its last entry expires.
        fence(Ordering::Release);
        let stale = if is_stale { kind::STALE } else { 0 };
        let marked = Header { expiry, kind: header.kind & !kind::STALE | stale, ..header };
        let seal = self.partition.places.seal_of(&marked, (hash, self.space_of(present)));
        let word = Header { seal, ..marked }.second_word();
        self.change(hash, present, 8, word);
    }

    /// Puts another number in the place of an entry's.
    pub(crate) fn set_number(&self, hash: u64, present: &Present<'_>, number: Number) {
        let header = &present.found.header;
        let check =
            self.partition.places.check_of_number(header, number, (hash, self.space_of(present)));
        self.change(hash, present, header.number_at(), number.with_check(check));
    }

    /// Stores a word of an entry's record. An older fill token may not succeed from then on, not even after a crash.
    fn change(&self, hash: u64, present: &Present<'_>, at: usize, word: u64) {
        self.partition.note_change(hash);
        let record = self.partition.base + present.slot.at();
        self.partition.memory.word(record + at).store(word, Ordering::Release);
        count_use(present.word, present.slot);
    }
}
