//! Scripts that run in one step on the server, for operations that Redis has no command for.

use std::sync::OnceLock;

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
}

/// Adds a number, given as its sign and its digits, by memcached's rules. An absent key gets the initial number, if one
/// is given. Nil where the key is absent, the number as text, or -1 where the value is no number.
pub(super) static INCR: Script = Script::new(include_str!("incr.lua"));

/// Puts text behind an existing value; 0 where there is no value. `APPEND` alone would make a value.
pub(super) static APPEND: Script = Script::new(
    "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    redis.call('APPEND', KEYS[1], ARGV[1])
    return 1",
);

/// Puts text before an existing value, whose TTL stays; 0 where there is no value.
pub(super) static PREPEND: Script = Script::new(
    "local value = redis.call('GET', KEYS[1])
    if not value then return 0 end
    redis.call('SET', KEYS[1], ARGV[1] .. value, 'KEEPTTL')
    return 1",
);

/// The length of a value, and its TTL in milliseconds, -1 for none; nil where the key is absent.
pub(super) static LOOK: Script = Script::new(
    "local left = redis.call('PTTL', KEYS[1])
    if left == -2 then return false end
    return {redis.call('STRLEN', KEYS[1]), left}",
);

/// Ends the TTL of an existing key; 0 where there is no key. `PERSIST` alone also says 0 for a key without a TTL.
pub(super) static PERSIST: Script = Script::new(
    "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    redis.call('PERSIST', KEYS[1])
    return 1",
);
