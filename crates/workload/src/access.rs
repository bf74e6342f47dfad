//! The ways in which one operation uses a key.

/// The use that an operation makes of its key, as a trace recorded it or as a phase draws it. An operation of a workload
/// may be made of several: a `get_many` is a get of each key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    #[default]
    Get,
    /// Store.
    Set,
    /// Read, and store on a miss. Traces record it as two operations.
    GetOrSet,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
}
