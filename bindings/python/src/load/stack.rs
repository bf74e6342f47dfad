//! Values that a stack has loaded.

use larder::{LoadOptions, Loaded, Origin, TiersSession};
use pyo3::prelude::*;

use super::{Load, is_failure};
use crate::errors::raised;

/// Why there is no value.
pub(super) enum Failure {
    Store(larder::Error),
    Loader(PyErr),
}

impl From<larder::Error> for Failure {
    fn from(error: larder::Error) -> Self {
        Self::Store(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Loader(error)
    }
}

impl Failure {
    pub(super) fn raised(self) -> PyErr {
        match self {
            Self::Store(error) => raised(&error),
            Self::Loader(error) => error,
        }
    }
}

/// The options of the stack.
pub(super) fn options_of(load: Load<'_, '_>) -> LoadOptions<'static> {
    let rules = load.rules;
    LoadOptions {
        ttl: rules.ttl,
        wait: rules.wait,
        lease: rules.lease,
        early: rules.early,
        flags: load.forms.flags_of_loaded(),
        ..LoadOptions::default()
    }
}

/// The value of a key, from the stack or from the loader.
pub(super) fn one<'py>(
    py: Python<'py>,
    session: &mut TiersSession,
    key: &[u8],
    load: Load<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = options_of(load);
    let loader = load.loader.clone().unbind();
    let (mut bytes, mut made, mut ended) = (Vec::new(), None, None);
    let answer = py.detach(|| {
        session.get_or_load(key, &mut bytes, &options, |out| {
            Python::attach(|py| {
                let value = loader.call0(py).inspect_err(|error| {
                    if !is_failure(py, error) {
                        ended = Some(error.clone_ref(py));
                    }
                })?;
                load.forms.write_loaded(out, value.bind(py))?;
                made = Some(value);
                Ok::<_, Failure>(Loaded::Value)
            })
        })
    });
    // The stack may have an older value in its place.
    if let Some(error) = ended {
        return Err(error);
    }
    match answer.map_err(Failure::raised)? {
        Some(answer) if answer.origin == Origin::Loader => {
            Ok(made.map_or_else(|| py.None().into_bound(py), |value| value.into_bound(py)))
        }
        Some(answer) => load.forms.value(py, &bytes, answer.flags),
        // The loader always has a value, and nothing absent is remembered.
        None => Ok(py.None().into_bound(py)),
    }
}
