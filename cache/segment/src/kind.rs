//! Properties of a record; bits of a byte.

/// The record has a version.
pub(crate) const VERSION: u8 = 1;
/// The record has the client's flags.
pub(crate) const FLAGS: u8 = 2;
/// The properties that each take a word before the key.
pub(crate) const WORDS: u8 = VERSION | FLAGS | NUMBER | NAMED;
/// The value is in chunks: the record has their list.
pub(crate) const CHUNKED: u8 = 4;
/// A chunk of another record's value.
pub(crate) const CHUNK: u8 = 8;
/// The key belongs to a namespace, which stands in the record.
pub(crate) const NAMED: u8 = 32;
/// The entry or chunk goes to the main queue at once.
pub(crate) const ADMITTED: u8 = 64;
/// The value is out of date: see `expire`. The mark stands beside the expiry.
pub(crate) const STALE: u8 = 16;
/// The value is a number, in a word before the key.
pub(crate) const NUMBER: u8 = 128;
