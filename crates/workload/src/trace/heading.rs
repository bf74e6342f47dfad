//! The names of columns, in CSV and in Parquet.

/// What a column says of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heading {
    /// In seconds, where the column itself does not tell.
    Time,
    /// In microseconds.
    TimeUs,
    Connection,
    Request,
    Operation,
    KeyHash,
    Key,
    KeySize,
    ValueSize,
    Ttl,
    Amount,
    Result,
    Latency,
    /// How many times the operation was repeated.
    Times,
}

impl Heading {
    /// The meaning of a name: those that Larder writes, and those of Meta's traces.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"time" | b"op_time" => Self::Time,
            b"time_us" => Self::TimeUs,
            b"connection" => Self::Connection,
            b"request" => Self::Request,
            b"operation" | b"op" => Self::Operation,
            b"key_hash" => Self::KeyHash,
            b"key" => Self::Key,
            b"key_size" => Self::KeySize,
            b"value_size" | b"size" => Self::ValueSize,
            b"ttl_s" | b"ttl" => Self::Ttl,
            b"amount" => Self::Amount,
            b"result" => Self::Result,
            b"latency_ns" => Self::Latency,
            b"op_count" => Self::Times,
            _ => return None,
        })
    }
}
