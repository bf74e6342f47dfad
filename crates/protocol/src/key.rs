//! Which keys are valid.

/// The longest key, in bytes.
pub const MAX_KEY_LEN: usize = 250;

/// Why a key cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFault {
    /// It has no bytes.
    Empty,
    /// It is longer than [`MAX_KEY_LEN`].
    TooLong,
    /// It has a blank or a control character, which would end it early.
    Blank,
}

/// Whether `key` can stand in a request: 1 to 250 bytes, no blank, no control character. Bytes from 128 up are
/// valid, so UTF-8 is.
pub fn check(key: &[u8]) -> Result<(), KeyFault> {
    if key.is_empty() {
        Err(KeyFault::Empty)
    } else if key.len() > MAX_KEY_LEN {
        Err(KeyFault::TooLong)
    } else if key.iter().any(|byte| *byte <= b' ' || *byte == 127) {
        Err(KeyFault::Blank)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_250_bytes_and_no_blanks() {
        assert_eq!(check(&[b'k'; 250]), Ok(()));
        assert_eq!(check("schlüssel".as_bytes()), Ok(()));
        assert_eq!(check(b""), Err(KeyFault::Empty));
        assert_eq!(check(&[b'k'; 251]), Err(KeyFault::TooLong));
        for key in [&b"a b"[..], b"a\r\nflush_all", b"a\0", b"a\x7f", b"\t"] {
            assert_eq!(check(key), Err(KeyFault::Blank), "{key:?}");
        }
    }
}
