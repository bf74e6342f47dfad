//! Arguments of calls that are times or numbers, and the errors of wrong ones.

use std::time::Duration;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDelta, PyInt};

/// A TTL: seconds, a `timedelta`, or `None` for ever.
pub(crate) fn ttl_of(ttl: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    let Some(ttl) = ttl else { return Ok(None) };
    let refused = |given: &str| {
        PyValueError::new_err(format!("ttl is {given}; write seconds, 0 or more, or None"))
    };
    if let Ok(seconds) = ttl.extract::<f64>() {
        let ttl = Duration::try_from_secs_f64(seconds);
        return ttl.map(Some).map_err(|_| refused(&shown(seconds)));
    }
    if let Ok(ttl) = ttl.extract::<Duration>() {
        return Ok(Some(ttl));
    }
    if ttl.cast::<PyDelta>().is_ok() {
        return Err(refused(ttl.str()?.to_str()?));
    }
    if ttl.cast::<PyInt>().is_ok() {
        return Err(refused("beyond 1e308"));
    }
    let kind = ttl.get_type().name()?;
    Err(PyTypeError::new_err(format!("ttl is a {kind}; write seconds, a timedelta, or None")))
}

/// An argument in seconds.
pub(crate) fn seconds(name: &str, given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given).map_err(|_| {
        PyValueError::new_err(format!("{name} is {}; write seconds, 0 or more", shown(given)))
    })
}

/// A number in a line of text: a large one has hundreds of digits.
fn shown(number: f64) -> String {
    if number.is_finite() && number.abs() >= 1e15 {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

/// A number that counters take.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        given.extract::<u64>().map(Self).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(given.py()) {
                return PyValueError::new_err(
                    "a counter takes numbers from 0 to 18446744073709551615; write decr(key, 1) for -1",
                );
            }
            error
        })
    }
}
