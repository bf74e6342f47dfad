//! Many keys, and one call of the loader for all that are absent.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder::{Loaded, Meta, Origin, Session, TiersSession};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::plain::{PAUSES, deadline, left};
use super::stack::{Failure, options_of};
use super::{Load, is_failure};
use crate::errors::raised;
use crate::lease::{LeaseAnswer, Right, ask_many, end, fill_many};
use crate::sessions::{Handle, Opened};
use crate::values::Stored;

/// Keys as the caller has them, each with the bytes that the store knows it by.
#[derive(Clone, Copy)]
struct Keys<'k, 'py> {
    objects: &'k [Bound<'py, PyAny>],
    bytes: &'k [&'k [u8]],
}

/// The values of keys, from the store or from the loader. No key comes twice.
pub(crate) fn many<'py>(
    py: Python<'py>,
    opened: &Opened,
    keys: &[Bound<'py, PyAny>],
    bytes: &[&[u8]],
    load: Load<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut handle = opened.take().map_err(|error| raised(&error))?;
    let values = match &mut handle {
        Handle::Stack(session) => of_stack(py, session, Keys { objects: keys, bytes }, load),
        Handle::Plain(session) => {
            of_store(py, opened, &mut **session, Keys { objects: keys, bytes }, load)
        }
    };
    opened.give(handle);
    values
}

/// The values that the loader makes of all keys, without a store.
pub(crate) fn all<'py>(
    loader: &Bound<'py, PyAny>,
    keys: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyDict>> {
    let made = made(loader, PyList::new(loader.py(), keys)?)?;
    let values = PyDict::new(loader.py());
    for key in keys {
        if let Some(value) = made.get_item(key)? {
            values.set_item(key, value)?;
        }
    }
    Ok(values)
}

/// Calls the loader; its dict.
fn made<'py>(
    loader: &Bound<'py, PyAny>,
    missing: Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyDict>> {
    loader.call1((missing,))?.cast_into::<PyDict>().map_err(|_| {
        PyTypeError::new_err("the loader of get_or_load_many returns a dict of key to value")
    })
}

fn of_stack<'py>(
    py: Python<'py>,
    session: &mut TiersSession,
    Keys { objects: keys, bytes }: Keys<'_, 'py>,
    load: Load<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options_of(load);
    let loader = load.loader.clone().unbind();
    let keys_of_loader: Vec<Py<PyAny>> = keys.iter().map(|key| key.clone().unbind()).collect();
    let (mut found, mut loaded) = (Vec::new(), HashMap::new());
    let asked = py.detach(|| {
        let mut loader_of_many = |places: &[usize], give: &mut larder::Give<'_>| {
            Python::attach(|py| {
                let missing = places.iter().map(|place| keys_of_loader[*place].clone_ref(py));
                let made = made(loader.bind(py), PyList::new(py, missing)?)?;
                for place in places {
                    let Some(value) = made.get_item(&keys_of_loader[*place])? else { continue };
                    let mut out = Vec::new();
                    load.forms.write_loaded(&mut out, &value)?;
                    loaded.insert(*place, value.unbind());
                    give(*place, &out, Loaded::Value);
                }
                Ok::<_, Failure>(())
            })
        };
        session.get_or_load_many(
            bytes,
            &options,
            &mut |place, value, answer| {
                found.push((place, value.to_vec(), answer.flags, answer.origin));
            },
            &mut loader_of_many,
        )
    });
    asked.map_err(Failure::raised)?;
    let values = PyDict::new(py);
    for (place, value, flags, origin) in found {
        let value = match loaded.get(&place) {
            Some(value) if origin == Origin::Loader => value.bind(py).clone(),
            _ => load.forms.value(py, &value, flags)?,
        };
        values.set_item(&keys[place], value)?;
    }
    Ok(values)
}

/// A key that this caller is to load.
struct Missing {
    place: usize,
    right: Right,
    older: Option<(Vec<u8>, Meta)>,
}

fn of_store<'py>(
    py: Python<'py>,
    opened: &Opened,
    session: &mut dyn Session,
    keys: Keys<'_, 'py>,
    load: Load<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let Keys { objects, bytes } = keys;
    let (lease, early) = (load.rules.lease, opened.loads.draw_early(load.rules.early));
    let (deadline, values) = (deadline(load.rules.wait), PyDict::new(py));
    let [mut pause, longest] = PAUSES;
    let mut places: Vec<usize> = (0..objects.len()).collect();
    loop {
        let asked: Vec<&[u8]> = places.iter().map(|place| bytes[*place]).collect();
        let answers = opened
            .writing(py, || ask_many(session, &opened.leads, &asked, lease, early))
            .map_err(|error| raised(&error))?;
        let (mut missing, mut waiting, mut failed) = (Vec::new(), Vec::new(), None);
        for (place, (answer, value)) in places.into_iter().zip(answers) {
            match answer {
                LeaseAnswer::Found(meta) => {
                    let value = load.forms.value(py, &value, meta.flags);
                    let kept = value.and_then(|value| values.set_item(&objects[place], value));
                    failed = failed.or(kept.err());
                }
                LeaseAnswer::Load(right, older) => {
                    missing.push(Missing { place, right, older: older.map(|meta| (value, meta)) });
                }
                LeaseAnswer::Wait => waiting.push(place),
            }
        }
        if let Some(error) = failed {
            opened.writing(py, || keep(session, opened, bytes, &missing, &[], None));
            return Err(error);
        }
        let left = left(deadline);
        if left.is_zero() {
            let late = |place| Missing { place, right: Right::Nothing, older: None };
            missing.extend(waiting.drain(..).map(late));
        }
        load_missing(py, opened, session, keys, missing, load, &values)?;
        if waiting.is_empty() {
            return Ok(values);
        }
        py.detach(|| sleep(pause.min(left)));
        py.check_signals()?;
        pause = longest.min(2 * pause);
        places = waiting;
    }
}

/// Calls the loader once for all these keys, and stores what it gives.
fn load_missing<'py>(
    py: Python<'py>,
    opened: &Opened,
    session: &mut dyn Session,
    Keys { objects: keys, bytes }: Keys<'_, 'py>,
    missing: Vec<Missing>,
    load: Load<'_, 'py>,
    values: &Bound<'py, PyDict>,
) -> PyResult<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let begun = Instant::now();
    let asked = PyList::new(py, missing.iter().map(|key| &keys[key.place]))?;
    let made = made(load.loader, asked);
    opened.loads.took(begun.elapsed());
    let given = made.as_ref().ok().map(|made| {
        let one = |key: &Missing| made.get_item(&keys[key.place]);
        missing.iter().map(one).collect::<PyResult<Vec<_>>>()
    });
    let given = given.transpose();
    let kept = match &given {
        Ok(Some(given)) => given
            .iter()
            .map(|value| value.as_ref().map(|value| load.forms.stored(value)).transpose())
            .collect::<PyResult<Vec<_>>>(),
        _ => Ok(missing.iter().map(|_| None).collect()),
    };
    let none = Vec::new();
    let stored = kept.as_ref().unwrap_or(&none);
    let ttl = load.rules.ttl;
    opened.writing(py, || keep(session, opened, bytes, &missing, stored, ttl));
    kept?;
    for (key, value) in missing.iter().zip(given?.unwrap_or_default()) {
        if let Some(value) = value {
            values.set_item(&keys[key.place], value)?;
        }
    }
    let Err(error) = made else { return Ok(()) };
    if !is_failure(py, &error) || missing.iter().any(|key| key.older.is_none()) {
        return Err(error);
    }
    for Missing { place, older, .. } in &missing {
        if let Some((value, meta)) = older {
            values.set_item(&keys[*place], load.forms.value(py, value, meta.flags)?)?;
        }
    }
    Ok(())
}

/// Stores the loaded values: those under leases in one call. Every right ends.
fn keep(
    session: &mut dyn Session,
    opened: &Opened,
    bytes: &[&[u8]],
    missing: &[Missing],
    made: &[Option<Stored<'_>>],
    ttl: Option<Duration>,
) {
    let of = |i: usize| made.get(i).and_then(Option::as_ref);
    let mut fills = Vec::new();
    for (i, Missing { place, right, .. }) in missing.iter().enumerate() {
        match (right, of(i)) {
            (Right::Lease(token), Some(value)) => fills.push((bytes[*place], value, *token)),
            (right, value) => {
                let value = value.map(|value| (value, ttl));
                end(session, &opened.leads, bytes[*place], *right, value);
            }
        }
    }
    if fills.is_empty() {
        return;
    }
    let stored = fill_many(session, &fills, ttl);
    // A value that was not stored may have been refused, and then its lease is still in force.
    for (i, (key, _, token)) in fills.iter().enumerate() {
        if !stored.as_ref().is_ok_and(|stored| stored[i]) {
            end(session, &opened.leads, key, Right::Lease(*token), None);
        }
    }
}
