//! The settings of a new region.

/// The settings of a new region. An existing region keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Bytes of the whole region. Values in chunks fill 85 to 93 % of 4 MiB and more, 80 to 88 % of 2 MiB, and 75 to 82 % of
    /// 1 MiB.
    pub size: usize,
    /// The expected bytes of key and value of an entry: the index has a slot for each such entry.
    pub item: usize,
    /// The longest key, to 64 KiB. A segment has room for four such keys and as many bytes of values. Where a key may take a
    /// 256th of the region or more, there are few segments, and values in chunks fill only 59 to 68 % of the region.
    pub max_key: usize,
    /// The largest value; `None` is a quarter of the region.
    pub max_value: Option<usize>,
    /// The most namespaces that the region has at once, to one for each KiB and 65,535; each takes 64 bytes. `None` is one for
    /// each 64 KiB, but at least 64 and at most 4,096.
    pub namespaces: Option<usize>,
}

impl Options {
    /// A region of this size for entries of about a hundred bytes.
    pub const fn of_size(size: usize) -> Self {
        Self { size, item: 112, max_key: 250, max_value: None, namespaces: None }
    }
}
