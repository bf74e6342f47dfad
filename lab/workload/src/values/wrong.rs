//! The explanation of a wrong value: the request, and the returned value.

use larder_store::count;

use super::{
    Correctness, Header, NOTHING, NUMBER_LEN, VERSIONS_PER_TURN, Values, checksum, parse_number,
};
use crate::KeySpace;

/// The request, for the explanation of a wrong value.
#[derive(Debug, Clone, Copy)]
pub struct ReadExpectation {
    /// Index of the key.
    pub key: u32,
    /// The oldest right version; [`NOTHING`] where no value is right.
    pub oldest: u32,
    /// The version from which the turn counts.
    pub base: u32,
}

impl ReadExpectation {
    /// `version 3`, counted from the turn's first version; a version from before the turn has no such number.
    fn version_shown(self, version: u32) -> String {
        match version.checked_sub(self.base) {
            Some(number) if number < VERSIONS_PER_TURN => format!("version {number}"),
            _ => "a version of an earlier round".to_owned(),
        }
    }

    /// An older version of a key came back.
    fn stale_shown(self, key: &str, version: u32) -> String {
        let which = self.version_shown(version);
        match self.oldest {
            NOTHING => format!("`{key}` was deleted, and {which} of it came back"),
            oldest if oldest <= self.base => format!("asked for `{key}`, got {which} of it"),
            oldest => format!(
                "asked for `{key}`, got {which} of it, but {} is the oldest right version",
                self.version_shown(oldest)
            ),
        }
    }
}

impl Values {
    /// Explains a wrong value in words: the request and the answer. `keys` names both.
    #[cold]
    pub fn describe(
        &self,
        keys: &KeySpace,
        asked: ReadExpectation,
        finding: Correctness,
        value: &[u8],
    ) -> String {
        let key = keys.shown(asked.key);
        if self.is_counter(asked.key) {
            return self.describe_number(&key, asked, finding, value);
        }
        let header = Header::read(value);
        let len = self.stored_len(asked.key, header.as_ref());
        match (finding, header) {
            (Correctness::Truncated, _) => {
                format!("`{key}` came back with {} of its {}", value.len(), count(len, "byte"))
            }
            (Correctness::Stale, Some(header)) => asked.stale_shown(&key, header.version),
            (Correctness::OtherKey, Some(header)) => {
                let other = (0..keys.count()).find(|index| self.tag(*index) == header.tag);
                let other = other.map_or_else(
                    || "a key that is not of this run".into(),
                    |index| format!("`{}`", keys.shown(index)),
                );
                format!("asked for `{key}`, got the value of {other}")
            }
            (Correctness::Damaged, Some(header))
                if value.len() > len && header.tag == self.tag(asked.key) =>
            {
                format!(
                    "`{key}` came back with {}, where {len} were stored",
                    count(value.len(), "byte")
                )
            }
            (Correctness::Damaged, _) => self.describe_damage(&key, asked, value),
            (Correctness::Stale | Correctness::OtherKey | Correctness::Right, _) => {
                format!("`{key}` came back changed")
            }
        }
    }

    /// Explains a wrong number, or what came in its place.
    fn describe_number(
        &self,
        key: &str,
        asked: ReadExpectation,
        finding: Correctness,
        value: &[u8],
    ) -> String {
        let number = parse_number(value).and_then(|number| self.apart(asked.key, number));
        match (finding, number) {
            (Correctness::Stale, Some(number)) => asked.stale_shown(key, number.version),
            (_, Some(number)) => format!(
                "`{key}` came back as {}, {:+} from the start of {}, which is not what was counted",
                value.escape_ascii(),
                number.steps,
                asked.version_shown(number.version)
            ),
            (_, None) => {
                let begins = &value[..value.len().min(NUMBER_LEN as usize)];
                format!(
                    "`{key}` came back as `{}` with {}, where a number of {NUMBER_LEN} digits was stored",
                    begins.escape_ascii(),
                    count(value.len(), "byte")
                )
            }
        }
    }

    /// The length of the value that was stored: as its header says, if that is whole.
    fn stored_len(&self, index: u32, header: Option<&Header>) -> usize {
        let tag = self.tag(index);
        let is_whole = |header: &&Header| {
            let sum = checksum(tag, header.version, header.len, self.seed);
            header.tag == tag && header.checksum == sum
        };
        header.filter(is_whole).map_or_else(|| self.len_of(index), |header| header.len as usize)
    }

    /// The byte at which a damaged value departs from the most similar version.
    fn describe_damage(&self, key: &str, asked: ReadExpectation, value: &[u8]) -> String {
        let known = Header::read(value).filter(|header| header.tag == self.tag(asked.key));
        let oldest = if asked.oldest == NOTHING { asked.base + 1 } else { asked.oldest };
        let version = known.as_ref().map_or(oldest, |header| header.version);
        let len = self.stored_len(asked.key, known.as_ref());
        let (at, header) = self.recipe_of(asked.key, version, len);
        let mut stored = self.pool[at..at + len].to_vec();
        if let Some(beginning) = stored.first_chunk_mut() {
            *beginning = header;
        }
        match stored.iter().zip(value).position(|(stored, came)| stored != came) {
            Some(at) => format!(
                "`{key}` came back damaged: byte {at} of {len} is {:#04x}, where {:#04x} was stored",
                value[at], stored[at]
            ),
            None => {
                format!(
                    "`{key}` came back with {}, where {len} were stored",
                    count(value.len(), "byte")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::base_version;
    use super::super::tests::{made, values, verify};
    use super::*;
    use crate::Lengths;

    #[test]
    fn a_wrong_value_is_described_with_its_key_and_the_answer() {
        let values = values("300");
        let keys = KeySpace::new(b"k", 100, Lengths::Drawn("8".parse().unwrap()), 7);
        let base = base_version(2);
        let said = |oldest: u32, value: &[u8]| {
            let asked = ReadExpectation { key: 5, oldest, base };
            let finding = verify(&values, 5, oldest, value);
            values.describe(&keys, asked, finding, value)
        };
        let value = made(&values, 5, base + 1);
        let mut damaged = value.clone();
        damaged[200] ^= 0x10;
        let [was, is] = [value[200], damaged[200]].map(|byte| format!("{byte:#04x}"));
        assert_eq!(
            [
                said(base + 1, &value[..100]),
                said(base + 3, &value),
                said(NOTHING, &value),
                said(base + 1, &made(&values, 5, base_version(1) + 1)),
                said(base, &made(&values, 5, base_version(1) + 1)),
                said(base + 1, &made(&values, 23, base + 1)),
                said(base + 1, &damaged),
                said(base + 1, &[&value[..], b"x"].concat()),
            ],
            [
                "`k0000005` came back with 100 of its 300 bytes".to_owned(),
                "asked for `k0000005`, got version 1 of it, but version 3 is the oldest right version"
                    .into(),
                "`k0000005` was deleted, and version 1 of it came back".into(),
                "asked for `k0000005`, got a version of an earlier round of it, but version 1 is the oldest right \
                 version"
                    .into(),
                "asked for `k0000005`, got a version of an earlier round of it".into(),
                "asked for `k0000005`, got the value of `k0000023`".into(),
                format!("`k0000005` came back damaged: byte 200 of 300 is {is}, where {was} was stored"),
                "`k0000005` came back with 301 bytes, where 300 were stored".into(),
            ]
        );
    }
}
