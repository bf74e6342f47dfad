//! Scripts that run in one step on the server, for operations that Redis has no command for.

use std::sync::OnceLock;

use super::request::Request;

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

    /// The script's hash, for `EVALSHA`.
    pub(super) fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.text).get_hash().into())
    }

    /// Adds a run of the script to a request. The value is one more argument, which is sent without a copy if it is large.
    pub(super) fn add(
        &self,
        name: Name,
        request: &mut Request,
        key: &[u8],
        arguments: &[&[u8]],
        value: Option<&[u8]>,
    ) {
        let (command, script): (&[u8], _) = match name {
            Name::Hash => (b"EVALSHA", self.hash()),
            Name::Text => (b"EVAL", self.text),
        };
        request.begin(4 + arguments.len() + usize::from(value.is_some()));
        for argument in [command, script.as_bytes(), b"1", key].iter().chain(arguments) {
            request.argument(argument);
        }
        if let Some(value) = value {
            request.value(value);
        }
    }

    /// The same in a request of several runs. The first of them brings the text, so that the server knows the hash of the
    /// others.
    pub(super) fn add_to_batch(
        &self,
        request: &mut Request,
        key: &[u8],
        arguments: &[&[u8]],
        value: Option<&[u8]>,
    ) {
        let name = if request.n_commands() == 0 { Name::Text } else { Name::Hash };
        self.add(name, request, key, arguments, value);
    }
}

/// By what a request names a script.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Hash,
    Text,
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
