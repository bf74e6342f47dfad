//! Channels: how the processes of other hosts hear that an entry has changed.
//!
//! A channel carries the keys that have changed, and never a value. A message reaches every open [`Subscription`] once, in
//! the order of its sender, as long as the connection of that subscription lasts. What is sent while a subscription is not
//! connected is lost to it. So each message has a number, and a reader finds out by it that one is missing.
//!
//! A message in bytes, numbers with the lowest byte first:
//!
//! ```text
//! 0   "LC"
//! 2   1, the version of this layout
//! 3   0: everything may have changed; 1: these keys have
//! 4   the group of the sender, 16 bytes
//! 20  the sender, 16 bytes
//! 36  the number of the message, 8 bytes
//! 44  the keys up to the end, each behind its length in 4 bytes
//! ```

use std::fmt::Debug;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Result;

const MAGIC: [u8; 3] = *b"LC\x01";
const EVERYTHING: u8 = 0;
const KEYS: u8 = 1;
const HEAD_LEN: usize = 44;

/// The channel of a store that is asked for: [`Store::channel`](crate::Store::channel).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelKind<'a> {
    /// The channel of this name, which every process that knows the name can publish on.
    Named(&'a str),
    /// The store's own report of its changed keys, whoever changes them. Nothing is published there.
    OwnWrites,
}

/// A number of 128 bits that no other process has, but by a chance that does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(pub [u8; 16]);

impl Id {
    /// A new number.
    pub fn random() -> Self {
        // The state is random in each process, and a forked child has its parent's.
        let half = || {
            let mut hasher = RandomState::new().build_hasher();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            hasher.write_u32(process::id());
            hasher.write_u128(now.as_nanos());
            hasher.finish()
        };
        Self((u128::from(half()) << 64 | u128::from(half())).to_ne_bytes())
    }
}

/// The origin of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The processes that share all tiers above the lowest with the sender. They need not act on its messages.
    pub group: Id,
    /// The sender.
    pub publisher: Id,
    /// The number of the message: 1 for the sender's first, then one more each. A repeated message has its number again.
    pub number: u64,
}

/// What has changed, or may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Every entry.
    Everything,
    /// The entries of these keys.
    Keys(Vec<Vec<u8>>),
}

/// A message of one process to all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The origin.
    pub origin: Origin,
    /// The entries that its sender has changed.
    pub change: Change,
}

impl Message {
    /// The message in bytes.
    pub fn encode(&self) -> Vec<u8> {
        let Origin { group, publisher, number } = self.origin;
        let mut bytes = Vec::with_capacity(HEAD_LEN);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(if matches!(self.change, Change::Keys(_)) { KEYS } else { EVERYTHING });
        bytes.extend_from_slice(&group.0);
        bytes.extend_from_slice(&publisher.0);
        bytes.extend_from_slice(&number.to_le_bytes());
        if let Change::Keys(keys) = &self.change {
            for key in keys {
                let len = u32::try_from(key.len()).unwrap_or(u32::MAX);
                bytes.extend_from_slice(&len.to_le_bytes());
                bytes.extend_from_slice(key);
            }
        }
        bytes
    }

    /// The message of these bytes; `None` where they are no message of this version. Its reader must then take it that
    /// everything has changed.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (kind, rest) = rest.split_first()?;
        let (group, rest) = rest.split_first_chunk()?;
        let (publisher, rest) = rest.split_first_chunk()?;
        let (number, mut rest) = rest.split_first_chunk()?;
        let change = match *kind {
            EVERYTHING if rest.is_empty() => Change::Everything,
            KEYS => {
                let mut keys = Vec::new();
                while !rest.is_empty() {
                    let (len, behind) = rest.split_first_chunk()?;
                    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
                    let (key, behind) = behind.split_at_checked(len)?;
                    keys.push(key.to_vec());
                    rest = behind;
                }
                Change::Keys(keys)
            }
            _ => return None,
        };
        let number = u64::from_le_bytes(*number);
        let origin = Origin { group: Id(*group), publisher: Id(*publisher), number };
        Some(Self { origin, change })
    }
}

/// A channel: [`Store::channel`](crate::Store::channel) returns it. It keeps the parts of its store alive that it needs.
pub trait Channel: Debug + Send + Sync {
    /// Sends a message to all subscriptions, and waits until the server has it.
    ///
    /// After an error it is not known whether the message was sent. The caller may send it again, with the same number.
    fn publish(&self, message: &Message) -> Result<()>;

    /// Opens a subscription. It gets everything that is sent afterwards.
    fn subscribe(&self) -> Result<Box<dyn Subscription>>;

    /// Whether the store itself reports every changed key, so that nobody has to publish.
    fn reports_all_writes(&self) -> bool {
        false
    }
}

/// An open subscription. One thread reads it.
pub trait Subscription: Send {
    /// The next event. Waits no longer than `patience`, and then returns [`Event::Silence`].
    ///
    /// After an error the subscription is over: events may be lost, and the caller subscribes anew. A peer that does not
    /// answer for a few seconds is an error too.
    fn next(&mut self, patience: Duration) -> Result<Event>;
}

/// What a subscription has heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Nothing, and the connection is sound.
    Silence,
    /// A message.
    Message(Message),
    /// A change without an origin: the report of a store, or a message that could not be read.
    Changed(Change),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(keys: Option<Vec<Vec<u8>>>, number: u64) -> Message {
        let origin = Origin { group: Id([1; 16]), publisher: Id([2; 16]), number };
        Message { origin, change: keys.map_or(Change::Everything, Change::Keys) }
    }

    #[test]
    fn a_message_has_the_documented_layout() {
        let bytes = message(Some(vec![b"key".to_vec(), Vec::new()]), 0x0102).encode();
        assert_eq!(bytes[..4], *b"LC\x01\x01");
        assert_eq!((&bytes[4..20], &bytes[20..36]), (&[1; 16][..], &[2; 16][..]));
        assert_eq!(bytes[36..44], [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[44..], *b"\x03\0\0\0key\0\0\0\0");
        assert_eq!(message(None, 7).encode().len(), HEAD_LEN);
    }

    #[test]
    fn another_version_and_another_kind_are_not_read() {
        for (place, byte) in [(0, b'l'), (2, 2), (3, 2), (3, KEYS + 2)] {
            let mut bytes = message(None, 1).encode();
            bytes[place] = byte;
            assert_eq!(Message::decode(&bytes), None);
        }
        let mut longer = message(None, 1).encode();
        longer.push(0);
        assert_eq!(Message::decode(&longer), None);
    }

    #[test]
    fn no_two_processes_have_one_number() {
        assert_ne!(Id::random(), Id::random());
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(keys: Option<Vec<Vec<u8>>>, number: u64) {
            let message = message(keys, number);
            prop_assert_eq!(Message::decode(&message.encode()), Some(message));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, keys: Vec<Vec<u8>>, cut: usize, at: usize, flip: u8) {
            let _ = Message::decode(&bytes);
            let mut bytes = message(Some(keys), 1).encode();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            bytes.truncate(cut % (bytes.len() + 1));
            if let Some(read) = Message::decode(&bytes) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }
    }
}
