//! The one error type of the libraries.

use std::io;
use std::time::Duration;

use crate::units::ByteSize;

/// The result of a fallible operation on a store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation could not be carried out.
///
/// Normal outcomes (a miss, an `add` that lost, a failed compare-and-swap) are values, never errors.
/// Every message is one lower-case line that names the value, the limit and, where there is one, the fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is longer than the engine takes.
    #[error("{engine}: key of {len} bytes > key limit of {limit} bytes")]
    KeyTooLong {
        /// The scheme of the engine.
        engine: &'static str,
        /// Length of the key, in bytes.
        len: usize,
        /// Longest key that the engine takes, in bytes.
        limit: usize,
    },
    /// The engine cannot take this key at all: empty, or with bytes that its protocol forbids.
    #[error("{engine}: key refused: {reason}")]
    InvalidKey {
        /// The scheme of the engine.
        engine: &'static str,
        /// The fault of the key, in one phrase.
        reason: &'static str,
    },
    /// A tag is empty or longer than [`MAX_TAG_LEN`](crate::MAX_TAG_LEN).
    #[error("{engine}: tag of {len} bytes is not 1 to {} bytes long", crate::MAX_TAG_LEN)]
    InvalidTag {
        /// The scheme of the engine.
        engine: &'static str,
        /// Length of the tag, in bytes.
        len: usize,
    },
    /// The value is larger than the engine takes. [`Session::set`](crate::Session::set) says whether an older value
    /// stays.
    #[error("{engine}: value {} > item limit {}", ByteSize(*len as u64), ByteSize(*limit as u64))]
    ValueTooLarge {
        /// The scheme of the engine.
        engine: &'static str,
        /// Length of the value, in bytes.
        len: usize,
        /// Largest value that the engine takes, in bytes.
        limit: usize,
    },
    /// No room: a full disk, a full map, a server out of memory that may not evict.
    #[error("{engine}: full: {what}")]
    Full {
        /// The scheme of the engine.
        engine: &'static str,
        /// The part that is full and the way to make room, in one phrase.
        what: String,
    },
    /// Stored data differs from the written data.
    #[error("{engine}: corrupted: {what}")]
    Corrupted {
        /// The scheme of the engine.
        engine: &'static str,
        /// The data, and how the corruption was noticed.
        what: String,
    },
    /// Another session holds a lock or a resource that this session needs; trying again may succeed.
    #[error("{engine}: busy: {what}")]
    Busy {
        /// The scheme of the engine.
        engine: &'static str,
        /// The lock or resource that is held.
        what: String,
    },
    /// No answer within the time allowed. Whether the operation took effect is not known.
    #[error("{engine}: no answer within {} ms from {peer}", after.as_millis())]
    Timeout {
        /// The scheme of the engine.
        engine: &'static str,
        /// The server that was asked.
        peer: String,
        /// The time for which the caller waited.
        after: Duration,
    },
    /// The store is not there: refused, closed, not installed.
    #[error("{engine}: {what}")]
    Unavailable {
        /// The scheme of the engine.
        engine: &'static str,
        /// The missing part and the package that brings it, in one phrase.
        what: String,
        /// The cause, where the system named one.
        #[source]
        source: Option<io::Error>,
    },
    /// This process was forked from the process that opened the store, with which it must not share a socket, a
    /// transaction or a lock.
    #[error("{engine}: opened before a fork; open the store again in this process")]
    Forked {
        /// The scheme of the engine.
        engine: &'static str,
    },
    /// The engine has no such operation.
    #[error("{engine}: has no operation `{operation}`")]
    Unsupported {
        /// The scheme of the engine.
        engine: &'static str,
        /// The operation that was asked for.
        operation: &'static str,
    },
    /// `incr` met a value that is not a decimal number below 2^64.
    #[error("{engine}: the value under this key is not a number")]
    NotANumber {
        /// The scheme of the engine.
        engine: &'static str,
    },
    /// The URL names an engine that this build does not have.
    #[error("unknown engine `{scheme}:`; {fix}")]
    UnknownScheme {
        /// The scheme as typed.
        scheme: String,
        /// The most similar scheme, or all schemes of the catalog.
        fix: String,
    },
    /// The URL cannot be read.
    #[error("store URL `{url}`: {reason}")]
    InvalidUrl {
        /// The URL as typed, its password masked.
        url: String,
        /// The fault, and the right form.
        reason: String,
    },
    /// An option in the URL is unknown or has a value outside its range.
    #[error("{engine}: {reason}")]
    InvalidOptions {
        /// The scheme of the engine.
        engine: &'static str,
        /// The option, the value, the limit.
        reason: String,
    },
    /// A size in the URL is smaller than the engine can work with.
    #[error("{engine}: option `{option}`: {}, the smallest", below(*size, *least))]
    SizeTooSmall {
        /// The scheme of the engine.
        engine: &'static str,
        /// The option.
        option: &'static str,
        /// The given size.
        size: ByteSize,
        /// The smallest size that the engine takes.
        least: ByteSize,
    },
    /// A peer answered something that its protocol does not allow here, or named an error of its own.
    #[error("{engine}: {peer} answered: {message}")]
    Protocol {
        /// The scheme of the engine.
        engine: &'static str,
        /// The server that answered.
        peer: String,
        /// The answer, shortened to one line.
        message: String,
    },
    /// The system refused an operation on a file or a socket.
    #[error("{engine}: {what}: {source}")]
    Io {
        /// The scheme of the engine.
        engine: &'static str,
        /// The attempted operation, with its path or peer.
        what: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Whether the same call may succeed when it is simply repeated.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Timeout { .. } | Self::Unavailable { .. })
    }

    /// Whether the store is at fault, and not the caller's key, value or timing: there is no answer, no store, or the system
    /// refuses. Other calls will fail too. A call that was [not made](Self::is_not_made) says nothing about the store.
    pub fn is_fault(&self) -> bool {
        let is_fault =
            matches!(self, Self::Timeout { .. } | Self::Unavailable { .. } | Self::Io { .. });
        is_fault && !self.is_not_made()
    }

    /// The error of a call that a layer refused, so that the store was not asked.
    pub fn not_made(engine: &'static str, what: String) -> Self {
        Self::Unavailable { engine, what, source: Some(io::Error::other(NotMade)) }
    }

    /// Whether a layer refused the call, so that the store was not asked: [`Error::not_made`].
    pub fn is_not_made(&self) -> bool {
        let Self::Unavailable { source: Some(source), .. } = self else { return false };
        matches!(source.get_ref(), Some(cause) if cause.is::<NotMade>())
    }

    /// Whether the person who typed the URL can fix the error by typing the URL differently.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownScheme { .. }
                | Self::InvalidUrl { .. }
                | Self::InvalidOptions { .. }
                | Self::SizeTooSmall { .. }
        )
    }

    /// A short, stable word for the kind of error; results count errors by this word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::KeyTooLong { .. } => "key_too_long",
            Self::InvalidKey { .. } => "invalid_key",
            Self::InvalidTag { .. } => "invalid_tag",
            Self::ValueTooLarge { .. } => "value_too_large",
            Self::Full { .. } => "full",
            Self::Corrupted { .. } => "corrupted",
            Self::Busy { .. } => "busy",
            Self::Timeout { .. } => "timeout",
            Self::Unavailable { .. } => "unavailable",
            Self::Forked { .. } => "forked",
            Self::Unsupported { .. } => "unsupported",
            Self::NotANumber { .. } => "not_a_number",
            Self::UnknownScheme { .. } => "unknown_scheme",
            Self::InvalidUrl { .. } => "invalid_url",
            Self::InvalidOptions { .. } | Self::SizeTooSmall { .. } => "invalid_options",
            Self::Protocol { .. } => "protocol",
            Self::Io { .. } => "io",
        }
    }
}

/// The cause of [`Error::not_made`].
#[derive(Debug, thiserror::Error)]
#[error("the store was not asked")]
struct NotMade;

/// `4 KiB < 1 MiB`; in bytes where the two look the same otherwise.
fn below(size: ByteSize, least: ByteSize) -> String {
    let (shown, limit) = (size.to_string(), least.to_string());
    if shown == limit {
        format!("{} < {} bytes", size.0, least.0)
    } else {
        format!("{shown} < {limit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_value_and_the_limit() {
        let error =
            Error::ValueTooLarge { engine: "memcached", len: 2170 * 1024, limit: 1024 * 1024 };
        assert_eq!(error.to_string(), "memcached: value 2.1 MiB > item limit 1 MiB");
    }

    #[test]
    fn only_what_the_store_failed_to_do_is_its_fault() {
        let (engine, what) = ("memcached", String::new);
        let source = || io::Error::other("reset");
        for fault in [
            Error::Timeout { engine, peer: what(), after: Duration::ZERO },
            Error::Unavailable { engine, what: what(), source: None },
            Error::Unavailable { engine, what: what(), source: Some(source()) },
            Error::Io { engine, what: what(), source: source() },
        ] {
            assert!(fault.is_fault() && !fault.is_not_made(), "{fault:?}");
        }
        for other in [
            Error::not_made(engine, what()),
            Error::ValueTooLarge { engine, len: 2, limit: 1 },
            Error::Busy { engine, what: what() },
            Error::Full { engine, what: what() },
            Error::Unsupported { engine, operation: "incr" },
        ] {
            assert!(!other.is_fault(), "{other:?}");
        }
        assert!(Error::not_made(engine, what()).is_not_made());
        assert_eq!(Error::not_made(engine, "open".into()).to_string(), "memcached: open");
    }

    #[test]
    fn a_size_that_is_hardly_too_small_is_told_in_bytes() {
        let message = |size| {
            let (size, least) = (ByteSize(size), ByteSize(1 << 20));
            Error::SizeTooSmall { engine: "mmap", option: "size", size, least }.to_string()
        };
        assert_eq!(message(4096), "mmap: option `size`: 4 KiB < 1 MiB, the smallest");
        assert_eq!(
            message(1_048_575),
            "mmap: option `size`: 1048575 < 1048576 bytes, the smallest"
        );
    }
}
