//! Scripts that run in one step on the server, for operations that Redis has no command for.

use std::fmt::Write as _;
use std::sync::OnceLock;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::outstanding::NodePeer;
use super::request::{add_argument, begin, begin_argument};
use crate::pipelined::Link;

/// A script with one key. A server knows the script by its hash once it has run there.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    const fn new(text: &'static str) -> Self {
        Self { text, hash: OnceLock::new() }
    }

    /// The script's hash, for `EVALSHA`, by which a server names scripts. It protects nothing.
    pub(super) fn hash(&self) -> &str {
        self.hash.get_or_init(|| {
            let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, self.text.as_bytes());
            hash.as_ref().iter().fold(String::new(), |mut hex, byte| {
                // Writing to a String does not fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            })
        })
    }

    /// Adds a run of the script to the requests of a link. The value is one more argument, of which a large one is not copied.
    pub(super) fn add(
        &self,
        name: Name,
        link: &mut Link<NodePeer>,
        key: &[u8],
        arguments: &[&[u8]],
        value: Option<&[u8]>,
    ) {
        let (command, script): (&[u8], _) = match name {
            Name::Hash => (b"EVALSHA", self.hash()),
            Name::Text => (b"EVAL", self.text),
        };
        begin(link.output(), 4 + arguments.len() + usize::from(value.is_some()));
        for argument in [command, script.as_bytes(), b"1", key].iter().chain(arguments) {
            add_argument(link.output(), argument);
        }
        if let Some(value) = value {
            begin_argument(link.output(), value.len());
            link.add_value(value, |out| out.extend_from_slice(b"\r\n"));
        }
    }
}

/// By what a request names a script.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Hash,
    Text,
}

impl Name {
    /// In a batch, the first request to a node brings the text, so that the node knows the hash of the others.
    pub(super) fn in_batch(is_first: bool) -> Self {
        if is_first { Self::Text } else { Self::Hash }
    }
}

/// The text of a script in a file. `kept` begins it with the functions that read what leases leave in a key.
macro_rules! script {
    ($file:literal) => {
        Script::new(include_str!($file))
    };
    (kept, $file:literal) => {
        Script::new(concat!(include_str!("kept.lua"), include_str!($file)))
    };
}

/// Adds a number, given as its sign and its digits, by memcached's rules. An absent key gets the initial number, if one
/// is given. Nil where the key is absent, the number as text, or -1 where the value is no number.
pub(super) static INCR: Script = script!(kept, "incr.lua");

/// Puts text behind an existing value, whose TTL stays; 0 where there is no value. `APPEND` alone would make a value.
/// What is made of a stale value is stale, and its lease is over. A batch sends this text and the next with every write,
/// so they are short.
pub(super) static APPEND: Script = script!("append.lua");

/// Puts text before an existing value in the same way.
pub(super) static PREPEND: Script = script!("prepend.lua");

/// The length of a value, its TTL in milliseconds, -1 for none, and 1 if it is stale; nil where there is none.
pub(super) static LOOK: Script = script!(kept, "look.lua");

/// Ends the TTL of an existing entry; 0 where there is none.
pub(super) static PERSIST: Script = script!(kept, "persist.lua");

/// A value, which may be stale, 1 if it is, and its TTL in milliseconds, -1 for none; nil where there is no value. It also runs
/// a command for the TTL, if one is given.
pub(super) static READ: Script = script!(kept, "read.lua");

/// What came of a request for a lease, given as its bytes and its time in milliseconds, the value, and its TTL: fresh where
/// the answer is [`HIT`], stale otherwise.
pub(super) static GET_OR_LEASE: Script = script!(kept, "get_or_lease.lua");

/// The first part of an answer to [`GET_OR_LEASE`].
pub(super) const HIT: i64 = 0;
pub(super) const LOAD: i64 = 1;
pub(super) const WAIT: i64 = 2;

/// Stores a value under a lease, whose bytes come first, then the option of a TTL, and the value last; nil where the
/// lease is not in force.
pub(super) static FILL: Script = script!(kept, "fill.lua");

/// Ends a lease; 0 where it is not in force.
pub(super) static RELEASE: Script = script!(kept, "release.lua");

/// Makes an entry stale, and shortens its TTL to a number of milliseconds, if one is given; 0 where there is no entry.
pub(super) static EXPIRE: Script = script!(kept, "expire.lua");

/// Removes an entry that has a certain value, which comes last, or, with milliseconds before it, makes it stale for so long; 0
/// where it has another one.
pub(super) static END_VALUE: Script = script!("end_value.lua");
