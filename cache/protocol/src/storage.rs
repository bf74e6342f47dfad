//! Requests and answers of `set` and its relatives, in every protocol of memcached.

/// A value to be stored. Its bytes follow the encoded header, and a `\r\n` follows them except in the binary protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageRequest<'a> {
    /// The key; must be [valid](crate::key::check).
    pub key: &'a [u8],
    /// Number of bytes of the value.
    pub len: usize,
    /// The client's own flags.
    pub flags: u32,
    /// The end of the entry, as [`exptime`](crate::ttl::exptime) gives it.
    pub exptime: i64,
    /// The condition for storing the value.
    pub mode: StorageMode,
}

/// The condition under which a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMode {
    /// In any case.
    Set,
    /// Only when the key is absent.
    Add,
    /// Only when the key exists.
    Replace,
    /// Behind the existing value.
    Append,
    /// Before the existing value.
    Prepend,
    /// Only when the entry still has this version.
    Cas(u64),
}

/// The outcome for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageReply {
    /// The value is stored, with the version of its entry where the answer has one.
    Stored(Option<u64>),
    /// The condition did not hold.
    NotStored,
    /// The entry has another version.
    Exists,
    /// The key does not exist, so it has no version.
    NotFound,
}
