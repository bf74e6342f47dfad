//! A sample of a trace of any length, in bounded memory and one pass.
//!
//! Keys are chosen by their hash, so that all uses of a key are in the sample or none (Waldspurger, Park, Garthwaite and
//! Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015). How many keys can be kept is known only at the end of
//! the trace, so there are several levels: the first has every key, the next one of two, the next one of four … A level
//! keeps a fixed number of uses. The last has all uses of its keys, and answers what needs the whole time. The others
//! have windows of time, and answer what needs many keys for a short time: a small cache forgets soon, and could not be
//! simulated with a hundredth of its keys.
//!
//! A share of few keys says nothing: of three keys, perhaps none is in it. Their uses are followed in the level that has all keys,
//! for a part of the time where they are too many.
//!
//! Unlike the fixed size of that paper, keys that leave the sample leave it with all their uses, because uses and not
//! counts of distances are kept. So the sample is at the end as if its rate had been known from the beginning.

mod few;
mod level;
mod reference;
#[cfg(test)]
mod tests;

use few::FewKeys;
#[cfg(test)]
use level::WINDOWS;
pub(crate) use level::{Level, Window};
pub(crate) use reference::{Kind, Reference, Ticks, TtlNumber, Ttls};

/// A sample keeps at most this many levels; the ones with the most keys go first. A trace of 2^11 times as many rows as a
/// level has uses needs them all.
const MOST_LEVELS: usize = 12;

/// A sample in the making.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// From the one with the most keys to the one with all uses.
    pub(crate) levels: Vec<Level>,
    most: usize,
    few: FewKeys,
}

impl Sampler {
    /// An empty sample whose levels keep at most `most` uses each.
    pub(crate) fn new(most: usize) -> Self {
        Self { levels: vec![Level::new(0, most)], most, few: FewKeys::new() }
    }

    /// Takes a use. `reads` are those of the trace before it.
    #[inline]
    pub(crate) fn push(&mut self, reference: &Reference, reads: u64) {
        self.few.note(reference.hash());
        let first = self.levels[0].shift;
        let zeros = reference.hash().leading_zeros();
        if zeros < first {
            return;
        }
        let of_key = ((zeros - first) as usize + 1).min(self.levels.len());
        if of_key == self.levels.len() && self.must_deepen(reference) {
            self.deepen(reads);
            return self.push(reference, reads);
        }
        for level in &mut self.levels[..of_key] {
            level.push(reference, reads);
        }
    }

    /// Whether the last level has no room for a use. A level of few keys may drop uses, because a deeper one tells no more, but not
    /// the one with all keys: more keys may come.
    fn must_deepen(&self, reference: &Reference) -> bool {
        let last = &self.levels[self.levels.len() - 1];
        let may_drop = self.levels.len() == MOST_LEVELS && self.few.count().is_some();
        last.is_full() && last.has_all() && !may_drop && !last.is_repeated_by(reference)
    }

    /// Gives up the levels that have a part of few keys, or no use at all. Then the last level may have only a part of the time.
    pub(crate) fn give_up_parts_of_few(&mut self) {
        if self.few.count().is_some() {
            self.levels.truncate(1);
        }
        while self.levels.len() > 1
            && self.levels.last().is_some_and(|last| last.references.is_empty())
        {
            self.levels.pop();
        }
    }

    /// The number of keys, where they are few.
    pub(crate) fn few_keys(&self) -> Option<u64> {
        self.few.count()
    }

    /// Adds a level of half as many keys, before the last drops its first uses.
    #[cold]
    fn deepen(&mut self, reads: u64) {
        let last = &self.levels[self.levels.len() - 1];
        let half = last.halved(reads);
        let was_full = self.levels.len();
        self.levels.push(half);
        if was_full == MOST_LEVELS {
            self.levels.remove(0);
        }
    }

    /// Gives up keys until the last level has at most this share of them, but keeps at least `least` of its uses.
    pub(crate) fn thin(&mut self, keys: f64, least: usize, reads: u64) {
        while let Some(last) = self.levels.last()
            && 0.5_f64.powi(i32::try_from(last.shift).unwrap_or(0)) > keys
            && last.references.len() / 2 >= least
            && self.levels.len() < MOST_LEVELS
            && last.has_all()
            && self.few.count().is_none()
        {
            self.deepen(reads);
        }
    }

    /// The most uses that a level keeps.
    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

/// Scatters the bits of a number, so that samples by it are random whatever the numbers were. See Steele, Lea and Flood,
/// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
pub(crate) fn scattered(number: u64, seed: u64) -> u64 {
    let mut mixed = number.wrapping_add(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
