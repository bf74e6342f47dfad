//! The class `Store`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder::{Counted, Delta, Error, Meta, Put, Session, SetMode, SetOptions, SetOutcome};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::{Count, seconds, ttl_of};
use crate::errors::{UnavailableError, closed, raised};
use crate::keys::{key_of, keys_of};
use crate::lease::{Answer, fill_many, leases, token_of};
use crate::load;
use crate::sessions::Opened;
use crate::values::{Forms, Stored};

/// An open cache. Threads share it; a forked child opens it anew by itself.
#[pyclass(frozen, module = "larder", weakref)]
pub(crate) struct Store {
    url: String,
    namespace: Option<String>,
    serializer: Py<PyAny>,
    /// `None` once it is closed.
    opened: Mutex<Option<Arc<Opened>>>,
}

/// Opens a cache by its URL. `larder.open` of the package chooses the serializer.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, url: String, serializer: Py<PyAny>) -> PyResult<Store> {
    let opened = py.detach(|| Opened::open(&url)).map_err(|error| raised(&error))?;
    Ok(Store { url, namespace: None, serializer, opened: Mutex::new(Some(Arc::new(opened))) })
}

/// Whether a call reads or writes: one may wait where the other does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Read,
    Write,
}

impl Store {
    /// What this process has opened.
    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let opened = self.held().clone();
        let opened = opened.ok_or_else(closed)?;
        if opened.is_inherited() { self.open_anew(py) } else { Ok(opened) }
    }

    /// What is open, while no other thread can change it. No caller may let go of the GIL or run Python meanwhile: another
    /// thread would wait here with the GIL, and a destructor that uses the store would wait for its own thread.
    fn held(&self) -> MutexGuard<'_, Option<Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the store in a forked child. Of several threads that do so at once, one provides for all.
    #[cold]
    fn open_anew(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let anew = py
            .detach(|| match &self.namespace {
                None => Opened::open(&self.url),
                Some(name) => Opened::open(&self.url)?.namespace(name),
            })
            .map_err(|error| raised(&error))?;
        let mut held = self.held();
        let Some(opened) = held.as_ref() else {
            drop(held);
            return Err(closed());
        };
        if !opened.is_inherited() {
            return Ok(Arc::clone(opened));
        }
        let anew = Arc::new(anew);
        // To drop what the parent has opened would end its connections in order, and so disturb it.
        std::mem::forget(held.replace(Arc::clone(&anew)));
        Ok(anew)
    }

    /// The same, or nothing where a forked child cannot open the store anew: a value is loaded without it.
    fn opened_to_load(&self, py: Python<'_>) -> PyResult<Option<Arc<Opened>>> {
        match self.opened(py) {
            Err(error) if error.is_instance_of::<UnavailableError>(py) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The forms that values have in the store.
    fn forms(&self, opened: &Opened) -> Forms<'_> {
        Forms::new(&self.serializer, opened.capabilities.flags)
    }

    /// Does some work with a session. Python's other threads run meanwhile where the store may wait.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: Call,
        work: impl FnOnce(&mut dyn Session) -> larder::Result<T> + Send,
    ) -> PyResult<T> {
        with(py, &*self.opened(py)?, call, work)
    }

    /// The value of a key with its metadata.
    fn read<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, Meta)>> {
        let (py, bytes) = (key.py(), key_of(key)?);
        let (opened, mut value) = (self.opened(py)?, Vec::new());
        let found = with(py, &opened, Call::Read, |session| session.get(bytes, &mut value))?;
        let Some(meta) = found else { return Ok(None) };
        let value = self.forms(&opened).value(py, &value, meta.flags)?;
        Ok(Some((value, meta)))
    }

    fn put(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        ttl: Option<&Bound<'_, PyAny>>,
        mode: SetMode,
    ) -> PyResult<SetOutcome> {
        let (py, bytes) = (key.py(), key_of(key)?);
        let opened = self.opened(py)?;
        let Stored { bytes: value, flags } = self.forms(&opened).stored(value)?;
        let options = SetOptions { mode, ttl: ttl_of(ttl)?, flags };
        with(py, &opened, Call::Write, |session| session.set(bytes, &value, &options))
    }

    fn count(
        &self,
        key: &Bound<'_, PyAny>,
        delta: Delta,
        initial: Option<Count>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        let (py, bytes, ttl) = (key.py(), key_of(key)?, ttl_of(ttl)?);
        let opened = self.opened(py)?;
        let first = initial.map(|Count(number)| (number, self.forms(&opened).number(number)));
        let counted: Option<Counted> = with(py, &opened, Call::Write, |session| {
            loop {
                let counted = session.incr(bytes, delta, None)?;
                let Some((number, form)) = first.as_ref().filter(|_| counted.is_none()) else {
                    return Ok(counted);
                };
                let options = SetOptions { mode: SetMode::Add, ttl, flags: form.flags };
                if session.set(bytes, &form.bytes, &options)?.is_stored() {
                    return Ok(Some(Counted { number: *number, version: None }));
                }
            }
        })?;
        Ok(counted.map(|counted| counted.number))
    }
}

/// Does some work with a session of an open store.
fn with<T: Send>(
    py: Python<'_>,
    opened: &Opened,
    call: Call,
    work: impl FnOnce(&mut dyn Session) -> larder::Result<T> + Send,
) -> PyResult<T> {
    let mut handle = opened.take().map_err(|error| raised(&error))?;
    let waits = if call == Call::Read { opened.reads_wait() } else { opened.writes_wait() };
    let done = if waits { py.detach(|| work(handle.session())) } else { work(handle.session()) };
    opened.give(handle);
    done.map_err(|error| raised(&error))
}

#[pymethods]
impl Store {
    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.read(key)?.map(|(value, _)| value).or(default))
    }

    /// The value of a key and its version for `cas`; `(None, None)` where it is absent.
    fn gets<'py>(
        &self,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<(Option<Bound<'py, PyAny>>, Option<u64>)> {
        Ok(self.read(key)?.map_or((None, None), |(value, meta)| (Some(value), meta.version)))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let bytes = key_of(key)?;
        Ok(self.with(key.py(), Call::Read, |session| session.look(bytes))?.is_some())
    }

    /// Stores a value, for `ttl` seconds or for ever.
    #[pyo3(signature = (key, value, ttl = None))]
    fn set(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.put(key, value, ttl, SetMode::Set).map(drop)
    }

    /// Stores a value where the key is absent; whether it was.
    #[pyo3(signature = (key, value, ttl = None))]
    fn add(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Ok(self.put(key, value, ttl, SetMode::Add)?.is_stored())
    }

    /// Stores a value where the key is present; whether it was.
    #[pyo3(signature = (key, value, ttl = None))]
    fn replace(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Ok(self.put(key, value, ttl, SetMode::Replace)?.is_stored())
    }

    /// Stores a value where the key still has the version of `gets`; whether it had.
    #[pyo3(signature = (key, value, version, ttl = None))]
    fn cas(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        version: u64,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Ok(self.put(key, value, ttl, SetMode::Cas(version))?.is_stored())
    }

    /// Adds to a whole number, and returns the new one. An absent key becomes `initial`, or stays absent: `None`.
    #[pyo3(
        signature = (key, delta = Count(1), initial = None, ttl = None),
        text_signature = "($self, key, delta=1, initial=None, ttl=None)"
    )]
    fn incr(
        &self,
        key: &Bound<'_, PyAny>,
        delta: Count,
        initial: Option<Count>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        self.count(key, Delta::Up(delta.0), initial, ttl)
    }

    /// Takes from a whole number, which stops at 0.
    #[pyo3(
        signature = (key, delta = Count(1), initial = None, ttl = None),
        text_signature = "($self, key, delta=1, initial=None, ttl=None)"
    )]
    fn decr(
        &self,
        key: &Bound<'_, PyAny>,
        delta: Count,
        initial: Option<Count>,
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        self.count(key, Delta::Down(delta.0), initial, ttl)
    }

    /// Gives a key a new TTL; whether it was there.
    #[pyo3(signature = (key, ttl = None))]
    fn touch(&self, key: &Bound<'_, PyAny>, ttl: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let (bytes, ttl) = (key_of(key)?, ttl_of(ttl)?);
        self.with(key.py(), Call::Write, |session| session.touch(bytes, ttl))
    }

    /// Removes a key; whether it was there.
    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let bytes = key_of(key)?;
        self.with(key.py(), Call::Write, |session| session.delete(bytes))
    }

    /// The values of the keys that are there.
    fn get_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let (py, keys) = (keys.py(), keys_of(keys)?);
        let bytes = keys.iter().map(key_of).collect::<PyResult<Vec<_>>>()?;
        let opened = self.opened(py)?;
        let found = with(py, &opened, Call::Read, |session| {
            let mut found = Vec::new();
            session.get_many(&bytes, &mut |place, value, meta| {
                found.push((place, value.to_vec(), meta.flags));
            })?;
            Ok(found)
        })?;
        let (forms, values) = (self.forms(&opened), PyDict::new(py));
        for (place, value, flags) in found {
            values.set_item(&keys[place], forms.value(py, &value, flags)?)?;
        }
        Ok(values)
    }

    /// Stores the values of a dict; the list of keys that were not stored.
    #[pyo3(signature = (values, ttl = None))]
    fn set_many<'py>(
        &self,
        values: &Bound<'py, PyDict>,
        ttl: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, ttl) = (values.py(), ttl_of(ttl)?);
        let opened = self.opened(py)?;
        let items: Vec<_> = values.iter().collect();
        let mut puts = Vec::with_capacity(items.len());
        for (key, value) in &items {
            puts.push((key_of(key)?, self.forms(&opened).stored(value)?));
        }
        let refused = with(py, &opened, Call::Write, |session| {
            let entries: Vec<Put<'_>> = puts
                .iter()
                .map(|(key, value)| {
                    let options = SetOptions { ttl, flags: value.flags, ..SetOptions::default() };
                    Put { key, value: &value.bytes, options }
                })
                .collect();
            let mut refused = Vec::new();
            session.set_many(&entries, &mut |place, outcome| {
                if !outcome.is_ok_and(SetOutcome::is_stored) {
                    refused.push(place);
                }
            })?;
            Ok(refused)
        })?;
        PyList::new(py, refused.into_iter().map(|place| &items[place].0))
    }

    /// Removes keys; the number of those that were there.
    fn delete_many(&self, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (py, keys) = (keys.py(), keys_of(keys)?);
        let bytes = keys.iter().map(key_of).collect::<PyResult<Vec<_>>>()?;
        self.with(py, Call::Write, |session| {
            let mut n_there = 0;
            let mut failed = None;
            session.delete_many(&bytes, &mut |_, outcome| match outcome {
                Ok(was_there) => n_there += usize::from(was_there),
                Err(error) => failed = Some(error),
            })?;
            failed.map_or(Ok(n_there), Err)
        })
    }

    /// The value of a key. Where it is absent, `loader()` makes it, and it is stored for `ttl` seconds.
    ///
    /// Of all callers that share the store and miss the key at once, one loads. The others wait for `wait` seconds at most. After
    /// `lease` seconds without a value another caller loads.
    #[pyo3(signature = (key, loader, ttl = None, *, wait = 5.0, lease = 10.0, early = 0.0))]
    fn get_or_load<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        loader: &Bound<'py, PyAny>,
        ttl: Option<&Bound<'py, PyAny>>,
        wait: f64,
        lease: f64,
        early: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, bytes) = (key.py(), key_of(key)?);
        let rules = load::Rules::new(ttl_of(ttl)?, wait, lease, early)?;
        let Some(opened) = self.opened_to_load(py)? else { return loader.call0() };
        let load = load::Load { loader, forms: self.forms(&opened), rules };
        load::one(py, &opened, bytes, load)
    }

    /// The values of keys. `loader(missing)` gets a list of those to load, and returns a dict of those that it can make.
    ///
    /// Keys that another caller loads are waited for, as in `get_or_load`.
    #[pyo3(signature = (keys, loader, ttl = None, *, wait = 5.0, lease = 10.0, early = 0.0))]
    fn get_or_load_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        loader: &Bound<'py, PyAny>,
        ttl: Option<&Bound<'py, PyAny>>,
        wait: f64,
        lease: f64,
        early: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = keys.py();
        let rules = load::Rules::new(ttl_of(ttl)?, wait, lease, early)?;
        let once = PyDict::new(py);
        for key in keys_of(keys)? {
            once.set_item(key, ())?;
        }
        let keys = keys_of(&once)?;
        let bytes = keys.iter().map(key_of).collect::<PyResult<Vec<_>>>()?;
        let Some(opened) = self.opened_to_load(py)? else { return load::all(loader, &keys) };
        let load = load::Load { loader, forms: self.forms(&opened), rules };
        load::many(py, &opened, &keys, &bytes, load)
    }

    /// The value of a key, or the right to load it: see `Leased`. `get_or_load` does the whole.
    #[pyo3(signature = (key, lease = 10.0, early = 0.0))]
    fn get_or_lease(&self, key: &Bound<'_, PyAny>, lease: f64, early: f64) -> PyResult<Answer> {
        let (py, bytes, mut value) = (key.py(), key_of(key)?, Vec::new());
        let (lease, early) = (seconds("lease", lease)?, seconds("early", early)?);
        let opened = self.opened(py)?;
        let leased = with(py, &opened, Call::Write, |session| {
            leases(session)?.get_or_lease_early(bytes, &mut value, lease, early)
        })?;
        Answer::new(py, leased, &value, self.forms(&opened))
    }

    /// The same for many keys: a dict.
    #[pyo3(signature = (keys, lease = 10.0, early = 0.0))]
    fn get_or_lease_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        lease: f64,
        early: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, keys) = (keys.py(), keys_of(keys)?);
        let bytes = keys.iter().map(key_of).collect::<PyResult<Vec<_>>>()?;
        let (lease, early) = (seconds("lease", lease)?, seconds("early", early)?);
        let opened = self.opened(py)?;
        let told = with(py, &opened, Call::Write, |session| {
            let (mut told, mut failed) = (Vec::new(), None);
            leases(session)?.get_or_lease_many(
                &bytes,
                lease,
                early,
                &mut |place, value, leased| match leased {
                    Ok(leased) => told.push((place, value.to_vec(), leased)),
                    Err(error) => failed = Some(error),
                },
            )?;
            failed.map_or(Ok(told), Err)
        })?;
        let (forms, answers) = (self.forms(&opened), PyDict::new(py));
        for (place, value, leased) in told {
            answers.set_item(&keys[place], Answer::new(py, leased, &value, forms)?)?;
        }
        Ok(answers)
    }

    /// Stores a value that was loaded under a token of `get_or_lease`. `False` where somebody has changed the key since.
    #[pyo3(signature = (key, value, token, ttl = None))]
    fn fill(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        token: &[u8],
        ttl: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (bytes, token, ttl) = (key_of(key)?, token_of(token)?, ttl_of(ttl)?);
        let (py, opened) = (key.py(), self.opened(key.py())?);
        let Stored { bytes: value, flags } = self.forms(&opened).stored(value)?;
        let options = SetOptions { ttl, flags, ..SetOptions::default() };
        let filled = with(py, &opened, Call::Write, |session| {
            leases(session)?.fill(bytes, &value, &options, &token)
        })?;
        Ok(filled.is_stored())
    }

    /// Stores the values of a dict under the tokens of another; the list of keys that were not stored.
    #[pyo3(signature = (values, tokens, ttl = None))]
    fn fill_many<'py>(
        &self,
        values: &Bound<'py, PyDict>,
        tokens: &Bound<'py, PyDict>,
        ttl: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, ttl) = (values.py(), ttl_of(ttl)?);
        let opened = self.opened(py)?;
        let items: Vec<_> = values.iter().collect();
        let mut made = Vec::with_capacity(items.len());
        for (key, value) in &items {
            let token = tokens.as_any().get_item(key)?;
            let token = token_of(token.extract::<&[u8]>()?)?;
            made.push((key_of(key)?, self.forms(&opened).stored(value)?, token));
        }
        let done = with(py, &opened, Call::Write, |session| {
            let fills: Vec<_> =
                made.iter().map(|(key, value, token)| (*key, value, *token)).collect();
            fill_many(session, &fills, ttl)
        })?;
        let refused = items.iter().zip(done).filter(|(_, is_stored)| !is_stored);
        PyList::new(py, refused.map(|((key, _), _)| key))
    }

    /// Ends a lease without a value, so that the next caller loads. `False` where it was over.
    fn release(&self, key: &Bound<'_, PyAny>, token: &[u8]) -> PyResult<bool> {
        let (bytes, token) = (key_of(key)?, token_of(token)?);
        self.with(key.py(), Call::Write, |session| leases(session)?.release(bytes, &token))
    }

    /// Marks an entry as stale, for `keep` seconds or the rest of its TTL: one caller loads it anew, and the others have the
    /// value meanwhile. `False` where there is no entry.
    #[pyo3(signature = (key, keep = None))]
    fn expire(&self, key: &Bound<'_, PyAny>, keep: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let (bytes, keep) = (key_of(key)?, ttl_of(keep)?);
        self.with(key.py(), Call::Write, |session| leases(session)?.expire(bytes, keep))
    }

    /// Whether the store has leases, which choose one loader of all processes that share it.
    #[getter]
    fn has_leases(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.opened(py)?.capabilities.leases)
    }

    /// Removes every entry of the store, or of its namespace.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Call::Write, |session| session.clear())
    }

    /// A store of the same medium with keys of its own.
    fn namespace(&self, py: Python<'_>, name: String) -> PyResult<Self> {
        let opened = self.opened(py)?;
        let opened = py.detach(|| opened.namespace(&name)).map_err(|error| raised(&error))?;
        Ok(Self {
            url: self.url.clone(),
            namespace: Some(name),
            serializer: self.serializer.clone_ref(py),
            opened: Mutex::new(Some(Arc::new(opened))),
        })
    }

    /// Counters of the store: `hits`, `misses`, `items` and others, as far as it knows them.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let opened = self.opened(py)?;
        let stats = py.detach(|| opened.store().stats()).map_err(|error| raised(&error))?;
        let told = PyDict::new(py);
        for (name, number) in [
            ("hits", stats.hits),
            ("misses", stats.misses),
            ("sets", stats.sets),
            ("deletes", stats.deletes),
            ("evictions", stats.evictions),
            ("expirations", stats.expirations),
            ("connections", stats.connections),
            ("items", stats.items),
            ("bytes", stats.bytes),
            ("capacity_bytes", stats.capacity_bytes),
        ] {
            if let Some(number) = number {
                told.set_item(name, number)?;
            }
        }
        Ok(told)
    }

    /// Whether calls may wait for a disk or another process.
    #[getter]
    fn waits(&self, py: Python<'_>) -> PyResult<bool> {
        let opened = self.opened(py)?;
        Ok(opened.reads_wait() || opened.writes_wait())
    }

    /// The URL, its password masked.
    #[getter]
    fn url(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.opened(py)?.store().info().url)
    }

    /// Ends the use of the store. A second call does nothing; every other call fails from then on.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let opened = self.held().take();
        match opened {
            Some(opened) if opened.is_inherited() => {
                // It is the parent's.
                std::mem::forget(opened);
                Ok(())
            }
            Some(opened) => {
                let done: Result<(), Error> = py.detach(|| opened.store().close());
                done.map_err(|error| raised(&error))
            }
            None => Ok(()),
        }
    }

    /// Shows the serializer to the garbage collector: it may hold the store itself.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.serializer)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.url(py) {
            Ok(url) => format!("<larder.Store {url}>"),
            Err(_) => "<larder.Store, closed>".into(),
        }
    }
}
