//! The hook that changes values on their way to the store and back.

use crate::{Error, Meta, Result};

/// A change of values. What [`encode`](Self::encode) makes of a value is stored, and [`decode`](Self::decode) makes the
/// value of it again.
///
/// A store cannot change encoded values: `append`, `prepend` and `incr` are [`Error::Unsupported`].
pub trait Codec: Send {
    /// Whether values stay as they are, so that no other method is called.
    const IS_PLAIN: bool = false;

    /// Writes the stored form of `value` behind the bytes in `out`.
    fn encode(&mut self, value: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// Writes the value of a stored form behind the bytes in `value`. `false`: the form is unknown, so the entry is a miss.
    fn decode(&mut self, stored: &[u8], value: &mut Vec<u8>) -> Result<bool>;

    /// The length of the value of a stored form; `None` for an unknown form.
    fn decoded_len(&mut self, stored: &[u8]) -> Result<Option<usize>>;

    /// The error of a write, in terms of the value and not of its stored form.
    fn in_terms_of_value(&self, error: Error, value_len: usize) -> Error;
}

/// Values stay as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainValues;

impl Codec for PlainValues {
    const IS_PLAIN: bool = true;

    fn encode(&mut self, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(value);
        Ok(())
    }

    fn decode(&mut self, stored: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        value.extend_from_slice(stored);
        Ok(true)
    }

    fn decoded_len(&mut self, stored: &[u8]) -> Result<Option<usize>> {
        Ok(Some(stored.len()))
    }

    fn in_terms_of_value(&self, error: Error, _: usize) -> Error {
        error
    }
}

/// The metadata of an entry whose value has been decoded behind the bytes in `out`; `None` for a miss. A miss and an error
/// leave `out` as it was.
pub(crate) fn decoded(
    codec: &mut impl Codec,
    stored: &[u8],
    found: Option<Meta>,
    out: &mut Vec<u8>,
) -> Result<Option<Meta>> {
    let Some(meta) = found else { return Ok(None) };
    let before = out.len();
    let known = codec.decode(stored, out);
    if !matches!(known, Ok(true)) {
        out.truncate(before);
    }
    Ok(known?.then_some(meta))
}
