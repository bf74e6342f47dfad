//! Values: bytes, text and whole numbers as they are, everything else by the store's serializer.
//!
//! The flags of an entry tell its form, with the numbers that pymemcache uses for the first three.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString, PyTuple};

/// Bytes.
const BYTES: u32 = 0;
/// A whole number in decimal digits, which `incr` changes.
pub(crate) const NUMBER: u32 = 2;
/// Text in UTF-8.
const TEXT: u32 = 16;
/// A value that a stack has loaded: its own flags in four bytes, the high one first, and the value behind them. The stack
/// is told the flags before the loader has made the value.
pub(crate) const LOADED: u32 = 128;

/// A value as it is stored, and its flags.
pub(crate) struct Stored<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) flags: u32,
}

/// The stored form of a value.
pub(crate) fn stored<'a>(
    value: &'a Bound<'_, PyAny>,
    serializer: &Py<PyAny>,
) -> PyResult<Stored<'a>> {
    let plain = |bytes: &'a [u8], flags| Ok(Stored { bytes: Cow::Borrowed(bytes), flags });
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return plain(bytes.as_bytes(), BYTES);
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return plain(text.to_str()?.as_bytes(), TEXT);
    }
    if value.cast_exact::<PyInt>().is_ok() && !value.is_instance_of::<PyBool>() {
        let digits = value.str()?.to_str()?.to_owned();
        return Ok(Stored { bytes: Cow::Owned(digits.into_bytes()), flags: NUMBER });
    }
    let made = serializer.call_method1(value.py(), "dumps", (value,))?;
    let made = made.bind(value.py()).cast::<PyTuple>()?;
    let bytes: Vec<u8> = made.get_item(0)?.extract()?;
    Ok(Stored { bytes: Cow::Owned(bytes), flags: made.get_item(1)?.extract()? })
}

/// Writes a value as one that was loaded.
pub(crate) fn write_loaded(out: &mut Vec<u8>, value: &Stored<'_>) {
    out.extend_from_slice(&value.flags.to_be_bytes());
    out.extend_from_slice(&value.bytes);
}

/// The value of a stored form.
pub(crate) fn value_of<'py>(
    py: Python<'py>,
    bytes: &[u8],
    flags: u32,
    serializer: &Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match flags {
        BYTES => Ok(PyBytes::new(py, bytes).into_any()),
        TEXT => {
            let text = std::str::from_utf8(bytes)
                .map_err(|_| PyValueError::new_err("a stored text is not UTF-8"))?;
            Ok(PyString::new(py, text).into_any())
        }
        NUMBER => number(py, bytes),
        LOADED => {
            let (flags, value) = bytes
                .split_first_chunk()
                .ok_or_else(|| PyValueError::new_err("a loaded value has less than four bytes"))?;
            value_of(py, value, u32::from_be_bytes(*flags), serializer)
        }
        _ => Ok(serializer
            .call_method1(py, "loads", (PyBytes::new(py, bytes), flags))?
            .into_bound(py)),
    }
}

/// A whole number of any length.
fn number<'py>(py: Python<'py>, digits: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let text = std::str::from_utf8(digits).unwrap_or_default().trim();
    match text.parse::<i64>() {
        Ok(number) => Ok(PyInt::new(py, number).into_any()),
        Err(_) => py.get_type::<PyInt>().call1((text,)),
    }
}
