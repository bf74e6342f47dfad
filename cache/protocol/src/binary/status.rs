//! The status of an answer, and the text of one that is an error.

/// The outcome in the header of an answer.
///
/// Section 3.2 of the Memcache Binary Protocol (`protocol-binary.txt`) lists most. memcached's `protocol_binary.h` adds the
/// two of authentication, libmemcached's `binary.h` the last three, which memcached 1.6 never sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// The request is done.
    Success = 0x00,
    /// The key does not exist.
    NotFound = 0x01,
    /// The key exists, or its entry has another version.
    Exists = 0x02,
    /// The value is too large.
    TooLarge = 0x03,
    /// The parts of the request are not those of its command.
    InvalidArguments = 0x04,
    /// The value is not stored: there is nothing to append it to.
    NotStored = 0x05,
    /// The value of the entry is not a number.
    NonNumeric = 0x06,
    /// The user is not authenticated, or may not do this.
    AuthFailure = 0x20,
    /// An authentication needs another step.
    AuthContinue = 0x21,
    /// The server does not know the command.
    UnknownCommand = 0x81,
    /// The server has no memory for the request.
    OutOfMemory = 0x82,
    /// The server knows the command, and its store cannot do it.
    NotSupported = 0x83,
    /// The server failed.
    Internal = 0x84,
    /// The server cannot do the request now.
    TemporaryFailure = 0x86,
}

impl Status {
    /// The number in the header.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The body of an error's answer. Its wording is memcached's, which clients show.
    pub fn text(self) -> &'static [u8] {
        match self {
            Self::Success | Self::AuthContinue => b"",
            Self::NotFound => b"Not found",
            Self::Exists => b"Data exists for key.",
            Self::TooLarge => b"Too large.",
            Self::InvalidArguments => b"Invalid arguments",
            Self::NotStored => b"Not stored.",
            Self::NonNumeric => b"Non-numeric server-side value for incr or decr",
            Self::AuthFailure => b"Auth failure.",
            Self::UnknownCommand => b"Unknown command",
            Self::OutOfMemory => b"Out of memory",
            Self::NotSupported => b"Not supported",
            Self::Internal => b"Internal error",
            Self::TemporaryFailure => b"Temporary failure",
        }
    }
}
