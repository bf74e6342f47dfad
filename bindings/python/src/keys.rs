//! Keys: text as UTF-8, or bytes.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The bytes of a key.
pub(crate) fn key_of<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    let kind = key.get_type().name()?;
    Err(PyTypeError::new_err(format!("a key is str or bytes, not {kind}; write str(key)")))
}

/// The keys of an iterable, in their order.
pub(crate) fn keys_of<'py>(keys: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    // The letters of one key would be keys themselves, and `delete_many` would remove them.
    if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() {
        let kind = keys.get_type().name()?;
        return Err(PyTypeError::new_err(format!("keys is one {kind}; write [key]")));
    }
    keys.try_iter()?.collect()
}
