//! Keys: an index becomes the same bytes on every target.

use super::sizes::SizeSpec;

/// The keys of a run: a prefix, then the index in as many digits as the key's length asks for.
///
/// On a server that Larder did not start, the run has its own prefix, so that it never touches the keys of others.
#[derive(Debug, Clone)]
pub struct KeySpace {
    prefix: Vec<u8>,
    count: u32,
    digits: usize,
    lengths: Lengths,
    seed: u64,
}

/// The length of each key, in bytes.
#[derive(Debug, Clone)]
pub enum Lengths {
    /// Drawn from a distribution for each key.
    Drawn(SizeSpec),
    /// As a trace recorded it; 0 where it recorded no length.
    Recorded {
        /// Length of the key with this index.
        by_key: Vec<u32>,
        /// Length where the trace recorded no length.
        otherwise: u32,
    },
}

impl KeySpace {
    /// `count` keys behind `prefix`. A length that has no room for prefix and digits is stretched to it.
    pub fn new(prefix: &[u8], count: u32, lengths: Lengths, seed: u64) -> Self {
        let digits = count.saturating_sub(1).max(1).ilog10() as usize + 1;
        Self { prefix: prefix.to_vec(), count, digits, lengths, seed }
    }

    /// The number of keys.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The shortest length that tells all keys apart, in bytes.
    pub fn shortest(&self) -> usize {
        self.prefix.len() + self.digits
    }

    /// The longest key, in bytes.
    pub fn longest(&self) -> usize {
        let longest = match &self.lengths {
            Lengths::Drawn(spec) => spec.largest(self.seed, self.count.into()),
            Lengths::Recorded { by_key, otherwise } => {
                let length = |length: &u32| if *length == 0 { *otherwise } else { *length };
                by_key.iter().map(length).max().unwrap_or(*otherwise)
            }
        };
        (longest as usize).max(self.shortest())
    }

    /// Whether lengths were recorded in a trace.
    pub fn are_recorded(&self) -> bool {
        matches!(&self.lengths, Lengths::Recorded { by_key, .. } if by_key.iter().any(|len| *len > 0))
    }

    /// The beginning of every key.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The key with this index, as messages show it.
    pub fn shown(&self, index: u32) -> String {
        let mut key = Vec::new();
        self.write(index, &mut key);
        String::from_utf8_lossy(&key).into_owned()
    }

    /// The length of one key, in bytes.
    pub fn len_of(&self, index: u32) -> usize {
        let length = match &self.lengths {
            Lengths::Drawn(spec) => spec.size_of(self.seed, u64::from(index)),
            Lengths::Recorded { by_key, otherwise } => match by_key.get(index as usize) {
                None | Some(0) => *otherwise,
                Some(length) => *length,
            },
        };
        (length as usize).max(self.shortest())
    }

    /// The index of a key; `None` where it cannot be a key of this space. Only [`KeySpace::write`] can tell whether
    /// every byte matches.
    pub fn index_of(&self, key: &[u8]) -> Option<u32> {
        let digits = &key[key.len().checked_sub(self.digits)?..];
        let index = digits.iter().try_fold(0_u32, |index, digit| {
            let digit = char::from(*digit).to_digit(10)?;
            index.checked_mul(10)?.checked_add(digit)
        })?;
        (index < self.count).then_some(index)
    }

    /// Appends the tag of a group to `out`: behind the prefix, as a key.
    pub fn write_tag(&self, group: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(b"group ");
        write_decimal(group, out);
    }

    /// Appends the key with this index to `out`.
    pub fn write(&self, index: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.prefix);
        out.resize(start + self.len_of(index), b'0');
        let mut rest = index;
        let mut at = out.len();
        while rest > 0 {
            at -= 1;
            out[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

/// Appends a number in decimal digits.
fn write_decimal(number: u32, out: &mut Vec<u8>) {
    let start = out.len();
    let mut rest = number;
    loop {
        out.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out[start..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(space: &KeySpace, index: u32) -> String {
        let mut out = Vec::new();
        space.write(index, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_key_is_its_prefix_and_its_padded_index() {
        let lengths = Lengths::Drawn("12".parse().unwrap());
        let space = KeySpace::new(b"larder:", 1000, lengths, 1);
        assert_eq!(key(&space, 0), "larder:00000");
        assert_eq!(key(&space, 999), "larder:00999");
        assert_eq!(space.shortest(), 10);
    }

    #[test]
    fn a_key_tells_its_index() {
        let lengths = Lengths::Drawn("12".parse().unwrap());
        let space = KeySpace::new(b"larder:", 1000, lengths, 1);
        for index in [0, 7, 42, 999] {
            assert_eq!(space.index_of(key(&space, index).as_bytes()), Some(index));
        }
        for other in ["", "k", "larder:0000x", "larder:"] {
            assert_eq!(space.index_of(other.as_bytes()), None, "{other}");
        }
        let space = KeySpace::new(b"k", 500, Lengths::Drawn("8".parse().unwrap()), 1);
        assert_eq!(space.index_of(b"k0000500"), None);
    }

    #[test]
    fn tags_are_the_runs_own_and_differ() {
        let space = KeySpace::new(b"larder:1:", 1000, Lengths::Drawn("12".parse().unwrap()), 1);
        let tag = |group| {
            let mut out = Vec::new();
            space.write_tag(group, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            (tag(0).as_str(), tag(120).as_str()),
            ("larder:1:group 0", "larder:1:group 120")
        );
    }

    #[test]
    fn a_length_without_room_is_stretched_so_that_keys_differ() {
        let lengths = Lengths::Recorded { by_key: vec![2, 0, 20], otherwise: 8 };
        let space = KeySpace::new(b"k", 101, lengths, 1);
        assert_eq!(key(&space, 0), "k000");
        assert_eq!(key(&space, 1), "k0000001");
        assert_eq!(key(&space, 2).len(), 20);
        assert_eq!(key(&space, 100), "k0000100");
    }
}
