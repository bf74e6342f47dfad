//! Entries that are read together: those with the same beginning of their keys, or the same tag.

use crate::{Error, Meta, Result, SetOptions, SetOutcome};

/// The longest tag, in bytes. No tag is empty.
pub const MAX_TAG_LEN: usize = 250;

/// Refuses a tag that is empty or too long.
pub fn check_tag(engine: &'static str, tag: &[u8]) -> Result<()> {
    match tag.len() {
        1..=MAX_TAG_LEN => Ok(()),
        len => Err(Error::InvalidTag { engine, len }),
    }
}

/// The callback for each entry that is found: key, value and metadata.
pub type FoundEntry<'a> = dyn FnMut(&[u8], &[u8], Meta) + 'a;

/// A session that can find entries by prefix or tag, in one request: [`Session::groups`] returns it.
///
/// An entry has at most one tag. A tag stays with its entry through `append`, `incr` and `touch`, and any other write
/// of the entry but [`Groups::set_tagged`] removes it.
///
/// [`Session::groups`]: crate::Session::groups
pub trait Groups {
    /// Calls `found` for every entry whose key begins with `prefix`, in any order. An empty prefix means all entries.
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()>;

    /// Calls `found` for every entry with this tag, in any order.
    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()>;

    /// As [`Session::set`](crate::Session::set), for an entry that then has this tag. A set whose condition
    /// does not hold leaves the tag as it is; [`Append`] and [`Prepend`] are
    /// [`Unsupported`](crate::Error::Unsupported).
    ///
    /// [`Append`]: crate::SetMode::Append
    /// [`Prepend`]: crate::SetMode::Prepend
    fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome>;

    /// Removes every entry with this tag, and returns how many entries that were.
    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64>;
}
