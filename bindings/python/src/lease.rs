//! Leases: of all callers that miss a key at once, one loads it.
//!
//! A store with leases chooses one caller of all processes that share it. Where a store has none, as `file:`, the callers of
//! this process choose one among themselves.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use larder::{Error, Fill, Leased, Leases, Meta, Put, Session, SetOptions, Token};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::values::{Forms, Stored};

/// The answer of `Store.get_or_lease`: a value, the right to load it, or both where the value is stale. With neither, another
/// caller loads it now.
#[pyclass(frozen, module = "larder", name = "Leased")]
pub(crate) struct Answer {
    /// The value, or `None` where there is none.
    #[pyo3(get)]
    value: Py<PyAny>,
    /// Whether there is a value.
    #[pyo3(get)]
    found: bool,
    /// Whether the value is one that somebody is to load anew.
    #[pyo3(get)]
    stale: bool,
    /// The lease for `fill` or `release`, where this caller is to load the value.
    #[pyo3(get)]
    token: Option<Py<PyBytes>>,
}

impl Answer {
    /// The answer of a store, as Python has it.
    pub(crate) fn new(
        py: Python<'_>,
        leased: Leased,
        value: &[u8],
        forms: Forms<'_>,
    ) -> PyResult<Self> {
        let (meta, stale, token) = match leased {
            Leased::Hit(meta) => (Some(meta), false, None),
            Leased::Load { token, stale } => (stale, stale.is_some(), Some(token)),
            Leased::Wait { stale } => (stale, stale.is_some(), None),
        };
        let found = meta.is_some();
        let value = match meta {
            Some(meta) => forms.value(py, value, meta.flags)?.unbind(),
            None => py.None(),
        };
        let token = token.map(|token| PyBytes::new(py, &token.to_bytes()).unbind());
        Ok(Self { value, found, stale, token })
    }
}

#[pymethods]
impl Answer {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)
    }
}

/// The token of these bytes.
pub(crate) fn token_of(bytes: &[u8]) -> PyResult<Token> {
    let bytes = bytes.try_into().map_err(|_| {
        let length = bytes.len();
        PyValueError::new_err(format!(
            "a token has {} bytes, not {length}; take that of get_or_lease",
            Token::LEN
        ))
    })?;
    Ok(Token::from_bytes(bytes))
}

/// The session's leases.
pub(crate) fn leases(session: &mut dyn Session) -> larder::Result<&mut dyn Leases> {
    let engine = session.engine();
    session.leases().ok_or(Error::Unsupported { engine, operation: "leases" })
}

/// The keys that callers of this process load now, of a store without leases.
#[derive(Default)]
pub(crate) struct Leads(Mutex<HashSet<Vec<u8>>>);

impl Leads {
    /// Whether this caller is the one that loads the key now.
    fn take(&self, key: &[u8]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_vec())
    }

    fn give_back(&self, key: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// The right under which a value is loaded.
#[derive(Clone, Copy)]
pub(crate) enum Right {
    /// A lease of the store.
    Lease(Token),
    /// The lead within this process.
    Lead,
    /// The value is not stored.
    Nothing,
}

/// The answer to a caller that loads what is absent.
#[derive(Clone, Copy)]
pub(crate) enum LeaseAnswer {
    /// The value is in the buffer.
    Found(Meta),
    /// This caller is to load the value. An older one is in the buffer where there is one.
    Load(Right, Option<Meta>),
    /// Another caller loads the value.
    Wait,
}

impl From<Leased> for LeaseAnswer {
    fn from(leased: Leased) -> Self {
        match leased {
            Leased::Hit(meta) | Leased::Wait { stale: Some(meta) } => Self::Found(meta),
            Leased::Load { token, stale } => Self::Load(Right::Lease(token), stale),
            Leased::Wait { stale: None } => Self::Wait,
        }
    }
}

/// What a caller does after an error: a value that the store cannot lease is loaded, and a wrong key is the caller's.
fn without_lease(error: Error) -> larder::Result<LeaseAnswer> {
    if error.is_fault() || matches!(error, Error::Busy { .. } | Error::Full { .. }) {
        return Ok(LeaseAnswer::Load(Right::Nothing, None));
    }
    Err(error)
}

/// Asks for the value of a key, or for the right to load it.
pub(crate) fn ask(
    session: &mut dyn Session,
    leads: &Leads,
    key: &[u8],
    value: &mut Vec<u8>,
    lease: Duration,
    early: Duration,
) -> larder::Result<LeaseAnswer> {
    if let Some(leases) = session.leases() {
        return match leases.get_or_lease_early(key, value, lease, early) {
            Ok(leased) => Ok(leased.into()),
            Err(error) => without_lease(error),
        };
    }
    let led = leads.take(key);
    // The lead comes first: a load that has ended before it has left its value.
    let found = session.get(key, value);
    if led && !matches!(found, Ok(None)) {
        leads.give_back(key);
    }
    match found {
        Ok(Some(meta)) => Ok(LeaseAnswer::Found(meta)),
        Ok(None) if led => Ok(LeaseAnswer::Load(Right::Lead, None)),
        Ok(None) => Ok(LeaseAnswer::Wait),
        Err(error) => without_lease(error),
    }
}

/// Asks for many keys at once. The answers are in the order of the keys, each with the bytes of its value.
pub(crate) fn ask_many(
    session: &mut dyn Session,
    leads: &Leads,
    keys: &[&[u8]],
    lease: Duration,
    early: Duration,
) -> larder::Result<Vec<(LeaseAnswer, Vec<u8>)>> {
    let mut value = Vec::new();
    let Some(leases) = session.leases() else {
        let mut answers = Vec::with_capacity(keys.len());
        for key in keys {
            match ask(session, leads, key, &mut value, lease, early) {
                Ok(asked) => answers.push((asked, value.clone())),
                Err(error) => {
                    give_back(session, leads, keys, &answers);
                    return Err(error);
                }
            }
        }
        return Ok(answers);
    };
    let mut answers = vec![(LeaseAnswer::Load(Right::Nothing, None), Vec::new()); keys.len()];
    let mut failed = None;
    let asked =
        leases.get_or_lease_many(keys, lease, early, &mut |place, value, leased| match leased
            .map_or_else(without_lease, |leased| Ok(leased.into()))
        {
            Ok(asked) => answers[place] = (asked, value.to_vec()),
            Err(error) => failed = Some(error),
        });
    // A key without an answer is loaded, and not stored.
    asked.or_else(|error| without_lease(error).map(drop))?;
    match failed {
        None => Ok(answers),
        Some(error) => {
            give_back(session, leads, keys, &answers);
            Err(error)
        }
    }
}

/// Ends the rights of all keys that have had an answer.
fn give_back(
    session: &mut dyn Session,
    leads: &Leads,
    keys: &[&[u8]],
    answers: &[(LeaseAnswer, Vec<u8>)],
) {
    for ((asked, _), key) in answers.iter().zip(keys) {
        if let LeaseAnswer::Load(right, _) = asked {
            end(session, leads, key, *right, None);
        }
    }
}

/// Stores what was loaded, and ends the right to load it. A store that does not take the value keeps none.
pub(crate) fn end(
    session: &mut dyn Session,
    leads: &Leads,
    key: &[u8],
    right: Right,
    made: Option<(&Stored<'_>, Option<Duration>)>,
) {
    let options = |ttl, flags| SetOptions { ttl, flags, ..SetOptions::default() };
    match right {
        Right::Lease(token) => {
            let Some(leases) = session.leases() else { return };
            let filled = made.map(|(value, ttl)| {
                leases.fill(key, &value.bytes, &options(ttl, value.flags), &token)
            });
            if !matches!(filled, Some(Ok(_))) {
                // A lease that cannot be given back ends with its time.
                let _ = leases.release(key, &token);
            }
        }
        Right::Lead => {
            if let Some((value, ttl)) = made {
                let _ = session.set(key, &value.bytes, &options(ttl, value.flags));
            }
            leads.give_back(key);
        }
        Right::Nothing => {}
    }
}

/// Stores many values that were loaded under leases; whether each was stored.
pub(crate) fn fill_many(
    session: &mut dyn Session,
    fills: &[(&[u8], &Stored<'_>, Token)],
    ttl: Option<Duration>,
) -> larder::Result<Vec<bool>> {
    let fills: Vec<Fill<'_>> = fills
        .iter()
        .map(|(key, value, token)| {
            let options = SetOptions { ttl, flags: value.flags, ..SetOptions::default() };
            Fill { put: Put { key, value: &value.bytes, options }, token: *token }
        })
        .collect();
    let mut stored = vec![false; fills.len()];
    leases(session)?.fill_many(&fills, &mut |place, outcome| {
        stored[place] = outcome.is_ok_and(larder::SetOutcome::is_stored);
    })?;
    Ok(stored)
}
