//! How often keys were used lately, in eight bytes for each entry of a cache, whatever the number of keys is.
//!
//! Each key has a counter in each of four rows, and other keys may have the same one; its count is the least of the four. See
//! Cormode and Muthukrishnan, "An Improved Data Stream Summary: the Count-Min Sketch and its Applications", Journal of
//! Algorithms 2005. Counters have four bits, and are halved after ten uses for each word, so that old uses weigh less
//! (TinyLFU).

use crate::sample::scattered;

const ROWS: u32 = 4;

/// The bits of a counter.
const BITS: u32 = 4;

const MOST_USES: u64 = (1 << BITS) - 1;

/// The lowest bit of every counter of a word.
const LOWEST: u64 = 0x1111_1111_1111_1111;

/// All counters are halved after this many uses for each word.
const USES_A_WORD: u64 = 10;

/// Counts by key.
#[derive(Debug)]
pub(super) struct Sketch {
    /// 16 counters each, four of each row.
    words: Vec<u64>,
    uses: u64,
}

impl Sketch {
    /// No uses so far, in a sketch with a word for each of this many entries.
    pub(super) fn of_entries(n_entries: u32) -> Self {
        let n_words = u64::from(n_entries).next_power_of_two();
        let n_words = usize::try_from(n_words).expect("as many entries are in memory");
        Self { words: vec![0; n_words], uses: 0 }
    }

    /// The number of entries for which it has a word each.
    pub(super) fn n_words(&self) -> u32 {
        u32::try_from(self.words.len()).unwrap_or(u32::MAX)
    }

    /// The word of a key in each row, and the place of its counter there. The rows are independent: if two keys with the
    /// same word in one row had the same one in all, the least of four counters would be no better than one.
    #[expect(clippy::cast_possible_truncation, reason = "some bits of a hash")]
    fn places(&self, key: u32) -> [(usize, u32); ROWS as usize] {
        let hashes = [0, 1].map(|seed| scattered(key.into(), seed));
        let [one, two] = hashes.map(|hash| [hash as u32, (hash >> 32) as u32]);
        let of_row = (one[0] >> 30) * ROWS;
        let mask = self.words.len() - 1;
        let place = |row: u32, hash: u32| (hash as usize & mask, (of_row + row) * BITS);
        [place(0, one[0]), place(1, one[1]), place(2, two[0]), place(3, two[1])]
    }

    /// The uses of a key, or a few more.
    pub(super) fn of(&self, key: u32) -> u32 {
        let counts = self.places(key).map(|(word, place)| self.words[word] >> place & MOST_USES);
        let least = counts.into_iter().min().unwrap_or(0);
        u32::try_from(least).unwrap_or(0)
    }

    /// Counts a use of a key.
    pub(super) fn add(&mut self, key: u32) {
        let mut is_counted = false;
        for (word, place) in self.places(key) {
            let word = &mut self.words[word];
            if *word >> place & MOST_USES < MOST_USES {
                *word += 1 << place;
                is_counted = true;
            }
        }
        self.uses += u64::from(is_counted);
        if self.uses >= self.words.len() as u64 * USES_A_WORD {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        let mut lost = 0;
        for word in &mut self.words {
            lost += u64::from((*word & LOWEST).count_ones());
            *word = *word >> 1 & !(LOWEST << (BITS - 1));
        }
        self.uses = (self.uses - lost / u64::from(ROWS)) / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_uses_up_to_the_most_and_others_have_none() {
        let mut sketch = Sketch::of_entries(100);
        assert_eq!(sketch.n_words(), 128);
        for uses in 1..=20 {
            sketch.add(7);
            assert_eq!(sketch.of(7), uses.min(15));
        }
        assert_eq!(sketch.of(8), 0);
    }

    #[test]
    fn counts_are_halved_after_ten_uses_for_each_word() {
        let mut sketch = Sketch::of_entries(64);
        (0..15).for_each(|_| sketch.add(1));
        // A use that no counter can take is none.
        sketch.add(1);
        (0..624).for_each(|at| sketch.add(1000 + at));
        let before = sketch.of(1);
        assert_eq!((before, sketch.uses), (15, 639));
        sketch.add(2);
        assert_eq!(sketch.of(1), 7);
        assert!(sketch.uses <= 320 && sketch.uses > 200, "{}", sketch.uses);
    }

    #[test]
    fn a_count_is_never_too_low_and_seldom_too_high() {
        let mut sketch = Sketch::of_entries(1024);
        (0..4000).for_each(|at| sketch.add(at % 1000));
        assert!((0..1000).all(|key| sketch.of(key) >= 4));
        let too_high = (0..1000).filter(|key| sketch.of(*key) > 4).count();
        assert!(too_high < 50, "{too_high}");
    }
}
