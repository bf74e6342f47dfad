//! Values: bytes, text and whole numbers as they are, everything else by the store's serializer.
//!
//! The flags of an entry tell its form, with the numbers that pymemcache uses for the first three. Redis keeps no flags, so a
//! stack with it has none either. There, a mark and the flags stand before a value, except where its form can be seen: a number
//! that `incr` can change is its digits, and all other bytes are bytes. Programs without Larder so read and write both.

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString, PyTuple};

/// Bytes.
const BYTES: u32 = 0;
/// A whole number in decimal digits, which `incr` changes.
const NUMBER: u32 = 2;
/// Text in UTF-8.
const TEXT: u32 = 16;
/// A value that a stack has loaded: its own flags in four bytes, the high one first, and the value behind them. The stack
/// is told the flags before the loader has made the value.
const LOADED: u32 = 128;

/// The beginning of a value whose flags follow in four bytes, the high one first. No text begins so.
const MARK: &[u8] = b"\xffLdr";

/// A value as it is stored, and its flags.
pub(crate) struct Stored<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) flags: u32,
}

/// The forms that values have in a store.
#[derive(Clone, Copy)]
pub(crate) struct Forms<'a> {
    serializer: &'a Py<PyAny>,
    keeps_flags: bool,
}

impl<'a> Forms<'a> {
    pub(crate) fn new(serializer: &'a Py<PyAny>, keeps_flags: bool) -> Self {
        Self { serializer, keeps_flags }
    }

    /// The stored form of a value.
    pub(crate) fn stored<'v>(self, value: &'v Bound<'_, PyAny>) -> PyResult<Stored<'v>> {
        let form = self.flagged(value)?;
        Ok(if self.keeps_flags { form } else { without_flags(form) })
    }

    /// The stored form of a value for a store that keeps flags.
    fn flagged<'v>(self, value: &'v Bound<'_, PyAny>) -> PyResult<Stored<'v>> {
        let plain = |bytes: &'v [u8], flags| Ok(Stored { bytes: Cow::Borrowed(bytes), flags });
        if let Ok(bytes) = value.cast_exact::<PyBytes>() {
            return plain(bytes.as_bytes(), BYTES);
        }
        // UTF-8 has no lone surrogates, as in names of files, and `str` of a number has a limit. A serializer may take both.
        if let Ok(text) = value.cast_exact::<PyString>() {
            if let Ok(text) = text.to_str() {
                return plain(text.as_bytes(), TEXT);
            }
        } else if value.cast_exact::<PyInt>().is_ok()
            && !value.is_instance_of::<PyBool>()
            && let Ok(digits) = value.str()
        {
            let digits = digits.to_str()?.to_owned();
            return Ok(Stored { bytes: Cow::Owned(digits.into_bytes()), flags: NUMBER });
        }
        self.serialized(value)
    }

    fn serialized<'v>(self, value: &Bound<'_, PyAny>) -> PyResult<Stored<'v>> {
        let made = self.serializer.bind(value.py()).call_method1("dumps", (value,))?;
        let form = || {
            let made = made.cast::<PyTuple>().ok()?;
            let bytes = made.get_item(0).ok()?.cast::<PyBytes>().ok()?.as_bytes().to_vec();
            Some((bytes, made.get_item(1).ok()?.extract().ok()?))
        };
        match form() {
            Some((_, flags @ (BYTES | NUMBER | TEXT | LOADED))) => {
                Err(PyValueError::new_err(format!(
                    "the serializer gave the flags {flags}, which are those of another form; take others, such as 32"
                )))
            }
            Some((bytes, flags)) => Ok(Stored { bytes: Cow::Owned(bytes), flags }),
            None => Err(PyTypeError::new_err(format!(
                "`dumps` of the serializer gave {}; return a tuple of bytes and flags, a number below 2^32",
                made.get_type().name()?
            ))),
        }
    }

    /// The flags that a stack is told of a value before it is loaded.
    pub(crate) fn flags_of_loaded(self) -> u32 {
        if self.keeps_flags { LOADED } else { BYTES }
    }

    /// Writes a value as one that a stack has loaded.
    pub(crate) fn write_loaded(self, out: &mut Vec<u8>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let form = self.stored(value)?;
        if self.keeps_flags {
            out.extend_from_slice(&form.flags.to_be_bytes());
        }
        out.extend_from_slice(&form.bytes);
        Ok(())
    }

    /// A number that `incr` begins, and its flags. Those of a number that the store itself begins are the flags of bytes.
    pub(crate) fn number(self, number: u64) -> Stored<'static> {
        let flags = if self.keeps_flags { NUMBER } else { BYTES };
        Stored { bytes: Cow::Owned(number.to_string().into_bytes()), flags }
    }

    /// The value of a stored form.
    pub(crate) fn value<'py>(
        self,
        py: Python<'py>,
        bytes: &[u8],
        flags: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (bytes, flags) = if self.keeps_flags { (bytes, flags) } else { with_flags(bytes) };
        match flags {
            BYTES => Ok(PyBytes::new(py, bytes).into_any()),
            TEXT => {
                let text = std::str::from_utf8(bytes)
                    .map_err(|_| PyValueError::new_err("a stored text is not UTF-8"))?;
                Ok(PyString::new(py, text).into_any())
            }
            NUMBER => number(py, bytes),
            LOADED => {
                let form = bytes.split_first_chunk();
                let form = form.map(|(flags, value)| (value, u32::from_be_bytes(*flags)));
                // A value that says so again and again would take all of the stack.
                let (value, flags) =
                    form.filter(|(_, flags)| *flags != LOADED).ok_or_else(|| {
                        PyValueError::new_err(
                            "a loaded value does not begin with the flags of its form",
                        )
                    })?;
                Self { keeps_flags: true, ..self }.value(py, value, flags)
            }
            _ => Ok(self
                .serializer
                .call_method1(py, "loads", (PyBytes::new(py, bytes), flags))?
                .into_bound(py)),
        }
    }
}

/// The form of a value in a store that keeps no flags.
fn without_flags(form: Stored<'_>) -> Stored<'_> {
    let is_seen = match form.flags {
        BYTES => !form.bytes.starts_with(MARK) && !is_count(&form.bytes),
        NUMBER => is_count(&form.bytes),
        _ => false,
    };
    if is_seen {
        return Stored { flags: BYTES, ..form };
    }
    let bytes = [MARK, &form.flags.to_be_bytes(), &form.bytes].concat();
    Stored { bytes: Cow::Owned(bytes), flags: BYTES }
}

/// A value of a store that keeps no flags, and the flags that it would have.
fn with_flags(bytes: &[u8]) -> (&[u8], u32) {
    match bytes.strip_prefix(MARK).and_then(<[u8]>::split_first_chunk) {
        Some((flags, value)) => (value, u32::from_be_bytes(*flags)),
        None if is_count(bytes) => (bytes, NUMBER),
        None => (bytes, BYTES),
    }
}

/// Whether bytes are a number as `incr` writes it: up to 20 digits, the first of which is not 0.
fn is_count(bytes: &[u8]) -> bool {
    bytes == b"0"
        || (matches!(bytes.len(), 1..=20)
            && bytes[0] != b'0'
            && bytes.iter().all(u8::is_ascii_digit))
}

/// A whole number of any length.
fn number<'py>(py: Python<'py>, digits: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let text = std::str::from_utf8(digits).unwrap_or_default().trim();
    match text.parse::<i64>() {
        Ok(number) => Ok(PyInt::new(py, number).into_any()),
        Err(_) => py.get_type::<PyInt>().call1((text,)),
    }
}
