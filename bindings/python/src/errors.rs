//! Larder's errors as exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(
    larder,
    Error,
    PyException,
    "The base of all errors of Larder; `kind` names each."
);
create_exception!(
    larder,
    UsageError,
    Error,
    "A URL, an option or a key that must be written differently."
);
create_exception!(
    larder,
    UnavailableError,
    Error,
    "The store does not answer, or failed on the way."
);
create_exception!(larder, UnsupportedError, Error, "The store cannot do this.");
create_exception!(larder, RefusedError, Error, "The store took no value: too large, or no room.");

/// The exception of an error of a store.
pub(crate) fn raised(error: &larder::Error) -> PyErr {
    let text = error.to_string();
    let exception = match error.kind() {
        "key_too_long" | "invalid_key" | "invalid_tag" | "unknown_scheme" | "invalid_url"
        | "invalid_options" => UsageError::new_err(text),
        "value_too_large" | "full" => RefusedError::new_err(text),
        "unsupported" => UnsupportedError::new_err(text),
        "not_a_number" => PyValueError::new_err(text),
        _ => UnavailableError::new_err(text),
    };
    named(&exception, error.kind());
    exception
}

/// The exception of a call of a closed store.
pub(crate) fn closed() -> PyErr {
    let exception = Error::new_err("the store is closed; open it again");
    named(&exception, "closed");
    exception
}

/// Gives an exception the name of its kind.
fn named(exception: &PyErr, kind: &str) {
    Python::attach(|py| {
        // An exception without the attribute is better than none.
        let _ = exception.value(py).setattr("kind", kind);
    });
}

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("UsageError", py.get_type::<UsageError>())?;
    module.add("UnavailableError", py.get_type::<UnavailableError>())?;
    module.add("UnsupportedError", py.get_type::<UnsupportedError>())?;
    module.add("RefusedError", py.get_type::<RefusedError>())
}
