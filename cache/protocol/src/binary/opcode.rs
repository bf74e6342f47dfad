//! Opcodes: the byte of a header that names its command.
//!
//! Section 3.3 of the Memcache Binary Protocol (`protocol-binary.txt`, in memcached's folder `doc`) lists the first 27.
//! memcached's `protocol_binary.h` adds `TOUCH`, the four of `GAT` and the three of SASL,
//! libmemcached's `binary.h` adds `VERBOSITY`.

use super::header::Lengths;
use crate::storage::StorageMode;

/// Reads a value.
pub const GET: u8 = 0x00;
/// Stores a value.
pub const SET: u8 = 0x01;
/// Stores a value where the key is absent.
pub const ADD: u8 = 0x02;
/// Stores a value where the key exists.
pub const REPLACE: u8 = 0x03;
/// Removes an entry.
pub const DELETE: u8 = 0x04;
/// Adds to a number.
pub const INCREMENT: u8 = 0x05;
/// Subtracts from a number.
pub const DECREMENT: u8 = 0x06;
/// Ends the connection.
pub const QUIT: u8 = 0x07;
/// Ends every entry.
pub const FLUSH: u8 = 0x08;
/// Quiet [`GET`]: a miss is not answered.
pub const GETQ: u8 = 0x09;
/// Asks for an answer only.
pub const NOOP: u8 = 0x0a;
/// Asks for the server's version.
pub const VERSION: u8 = 0x0b;
/// [`GET`] whose answer has the key.
pub const GETK: u8 = 0x0c;
/// Quiet [`GETK`]: a miss is not answered.
pub const GETKQ: u8 = 0x0d;
/// Puts a value behind the existing one.
pub const APPEND: u8 = 0x0e;
/// Puts a value before the existing one.
pub const PREPEND: u8 = 0x0f;
/// Asks for statistics.
pub const STAT: u8 = 0x10;
/// Quiet [`SET`]: success is not answered.
pub const SETQ: u8 = 0x11;
/// Quiet [`ADD`]: success is not answered.
pub const ADDQ: u8 = 0x12;
/// Quiet [`REPLACE`]: success is not answered.
pub const REPLACEQ: u8 = 0x13;
/// Quiet [`DELETE`]: success is not answered.
pub const DELETEQ: u8 = 0x14;
/// Quiet [`INCREMENT`]: success is not answered.
pub const INCREMENTQ: u8 = 0x15;
/// Quiet [`DECREMENT`]: success is not answered.
pub const DECREMENTQ: u8 = 0x16;
/// Quiet [`QUIT`]: the connection ends without an answer.
pub const QUITQ: u8 = 0x17;
/// Quiet [`FLUSH`]: success is not answered.
pub const FLUSHQ: u8 = 0x18;
/// Quiet [`APPEND`]: success is not answered.
pub const APPENDQ: u8 = 0x19;
/// Quiet [`PREPEND`]: success is not answered.
pub const PREPENDQ: u8 = 0x1a;
/// Sets how much a server logs. memcached 1.6 answers it as an unknown command.
pub const VERBOSITY: u8 = 0x1b;
/// Gives an entry a new end.
pub const TOUCH: u8 = 0x1c;
/// Reads a value and gives its entry a new end.
pub const GAT: u8 = 0x1d;
/// Quiet [`GAT`]: a miss is not answered.
pub const GATQ: u8 = 0x1e;
/// Asks for the mechanisms of authentication.
pub const SASL_LIST_MECHS: u8 = 0x20;
/// Begins an authentication.
pub const SASL_AUTH: u8 = 0x21;
/// Goes on with an authentication.
pub const SASL_STEP: u8 = 0x22;
/// [`GAT`] whose answer has the key.
pub const GATK: u8 = 0x23;
/// Quiet [`GATK`]: a miss is not answered.
pub const GATKQ: u8 = 0x24;

/// Whether an opcode is the quiet variant of its command.
pub(super) fn is_quiet(opcode: u8) -> bool {
    matches!(opcode, GETQ | GETKQ | SETQ..=PREPENDQ | GATQ | GATKQ)
}

/// A command without its quiet variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get { wants_key: bool },
    GetAndTouch { wants_key: bool },
    Touch,
    Set(StorageMode),
    Delete,
    Arithmetic { is_down: bool },
    Flush,
    Stat,
    Verbosity,
    Version,
    Noop,
    Quit,
    SaslList,
    Sasl { is_step: bool },
}

impl Verb {
    /// The command of an opcode; `None` where the opcode is unknown.
    #[inline]
    pub(super) fn of(opcode: u8) -> Option<Self> {
        Some(match opcode {
            GET | GETQ => Self::Get { wants_key: false },
            GETK | GETKQ => Self::Get { wants_key: true },
            GAT | GATQ => Self::GetAndTouch { wants_key: false },
            GATK | GATKQ => Self::GetAndTouch { wants_key: true },
            TOUCH => Self::Touch,
            SET | SETQ => Self::Set(StorageMode::Set),
            ADD | ADDQ => Self::Set(StorageMode::Add),
            REPLACE | REPLACEQ => Self::Set(StorageMode::Replace),
            APPEND | APPENDQ => Self::Set(StorageMode::Append),
            PREPEND | PREPENDQ => Self::Set(StorageMode::Prepend),
            DELETE | DELETEQ => Self::Delete,
            INCREMENT | INCREMENTQ => Self::Arithmetic { is_down: false },
            DECREMENT | DECREMENTQ => Self::Arithmetic { is_down: true },
            FLUSH | FLUSHQ => Self::Flush,
            STAT => Self::Stat,
            VERBOSITY => Self::Verbosity,
            VERSION => Self::Version,
            NOOP => Self::Noop,
            QUIT | QUITQ => Self::Quit,
            SASL_LIST_MECHS => Self::SaslList,
            SASL_AUTH => Self::Sasl { is_step: false },
            SASL_STEP => Self::Sasl { is_step: true },
            _ => return None,
        })
    }

    /// Whether the parts of a request are those that its command has.
    ///
    /// memcached does not check that `TOUCH`, `GAT` and `STAT` have no value, and would take the value for the next
    /// request.
    #[inline]
    pub(super) fn fits(self, lengths: Lengths) -> bool {
        let Lengths { extras, key, value } = lengths;
        match self {
            Self::Get { .. } | Self::Delete => extras == 0 && key > 0 && value == 0,
            Self::GetAndTouch { .. } | Self::Touch => extras == 4 && key > 0 && value == 0,
            Self::Set(StorageMode::Append | StorageMode::Prepend) | Self::Sasl { .. } => {
                extras == 0 && key > 0
            }
            Self::Set(_) => extras == 8 && key > 0,
            Self::Arithmetic { .. } => extras == 20 && key > 0 && value == 0,
            Self::Flush => (extras == 0 || extras == 4) && key == 0 && value == 0,
            Self::Stat => extras == 0 && value == 0,
            Self::Verbosity => extras == 4 && key == 0 && value == 0,
            Self::Version | Self::Noop | Self::Quit | Self::SaslList => {
                extras == 0 && key == 0 && value == 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_opcode_is_its_command_with_fewer_answers() {
        for (loud, quiet) in [
            (GET, GETQ),
            (GETK, GETKQ),
            (GAT, GATQ),
            (GATK, GATKQ),
            (SET, SETQ),
            (ADD, ADDQ),
            (REPLACE, REPLACEQ),
            (APPEND, APPENDQ),
            (PREPEND, PREPENDQ),
            (DELETE, DELETEQ),
            (INCREMENT, INCREMENTQ),
            (DECREMENT, DECREMENTQ),
            (FLUSH, FLUSHQ),
            (QUIT, QUITQ),
        ] {
            assert!(Verb::of(loud).is_some());
            assert_eq!(Verb::of(loud), Verb::of(quiet), "{loud:#x}");
            assert!(!is_quiet(loud) && is_quiet(quiet), "{loud:#x}");
        }
        assert_eq!((0..=u8::MAX).filter(|opcode| is_quiet(*opcode)).count(), 14);
    }

    #[test]
    fn gaps_between_opcodes_are_unknown() {
        let known = (0..=u8::MAX).filter(|opcode| Verb::of(*opcode).is_some()).count();
        assert_eq!(known, 36);
        for opcode in [0x1f, 0x25, 0x30, 0x3c, 0x80, 0xff] {
            assert_eq!(Verb::of(opcode), None, "{opcode:#x}");
        }
    }
}
