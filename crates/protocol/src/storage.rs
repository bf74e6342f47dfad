//! Requests and answers of `set` and its relatives, in either protocol.

/// A value to be stored. Its bytes follow the encoded header, and a `\r\n` follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageRequest<'a> {
    /// The key; must be [valid](crate::key::check).
    pub key: &'a [u8],
    /// Number of bytes of the value.
    pub len: usize,
    /// The client's own flags.
    pub flags: u32,
    /// When it ends, as [`exptime`](crate::ttl::exptime) gives it.
    pub exptime: i64,
    /// Under which condition.
    pub mode: StorageMode,
}

/// Under which condition a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMode {
    /// In any case.
    Set,
    /// Only when the key is absent.
    Add,
    /// Only when the key is there.
    Replace,
    /// Behind the value that is there.
    Append,
    /// Before the value that is there.
    Prepend,
    /// Only when the entry still has this version.
    Cas(u64),
}

/// The outcome for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageReply {
    /// It is stored.
    Stored,
    /// The condition did not hold.
    NotStored,
    /// The entry has another version.
    Exists,
    /// The key is not there, so it has no version.
    NotFound,
}
