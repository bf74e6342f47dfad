//! Values that a stack has loaded.

use std::time::Duration;

use larder::{LoadOptions, Loaded, TiersSession};
use pyo3::prelude::*;

use crate::errors::raised;
use crate::values::{LOADED, stored, value_of, write_loaded};

/// How a value is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) ttl: Option<Duration>,
    /// The longest wait for the load of another caller.
    pub(crate) wait: Duration,
    /// The factor by which a value is loaded before its TTL is over; 0 is never.
    pub(crate) early: f64,
}

/// Why there is no value.
enum Failure {
    Store(larder::Error),
    Loader(PyErr),
}

impl From<larder::Error> for Failure {
    fn from(error: larder::Error) -> Self {
        Self::Store(error)
    }
}

/// The value of a key, from the stack or from the loader.
pub(crate) fn from_stack<'py>(
    py: Python<'py>,
    session: &mut TiersSession,
    key: &[u8],
    loader: &Bound<'py, PyAny>,
    serializer: &Py<PyAny>,
    rules: Rules,
) -> PyResult<Bound<'py, PyAny>> {
    let options = LoadOptions {
        ttl: rules.ttl,
        wait: rules.wait,
        early: rules.early,
        flags: LOADED,
        ..LoadOptions::default()
    };
    let loader = loader.clone().unbind();
    let mut bytes = Vec::new();
    let answer = py.detach(|| {
        session.get_or_load(key, &mut bytes, &options, |out| {
            Python::attach(|py| {
                let value = loader.call0(py).map_err(Failure::Loader)?.into_bound(py);
                let value = stored(&value, serializer).map_err(Failure::Loader)?;
                write_loaded(out, &value);
                Ok::<_, Failure>(Loaded::Value)
            })
        })
    });
    match answer {
        Ok(Some(answer)) => value_of(py, &bytes, answer.flags, serializer),
        // The loader always has a value, and nothing absent is remembered.
        Ok(None) => Ok(py.None().into_bound(py)),
        Err(Failure::Store(error)) => Err(raised(&error)),
        Err(Failure::Loader(error)) => Err(error),
    }
}
