//! An open store, and the sessions that its callers take and give back.

use std::sync::{Arc, Mutex, PoisonError};

use larder::{Capabilities, Session, Tiers, TiersSession, Waits};

use pyo3::Python;

use crate::fork::generation;
use crate::lease::Leads;
use crate::load::MeanLoad;

/// A store as one process has opened it.
pub(crate) struct Opened {
    store: Opening,
    pub(crate) capabilities: Capabilities,
    /// The generation of the process that has opened it.
    generation: u64,
    /// Sessions that nobody uses now. There are never more than callers at once.
    free: Mutex<Vec<Handle>>,
    /// The keys that this process loads, where the store has no leases.
    pub(crate) leads: Leads,
    pub(crate) loads: MeanLoad,
}

enum Opening {
    Plain(Arc<dyn larder::Store>),
    Stack(Arc<Tiers>),
}

/// A session of a store, or of a stack, which can load.
pub(crate) enum Handle {
    Plain(Box<dyn Session>),
    Stack(Box<TiersSession>),
}

impl Handle {
    pub(crate) fn session(&mut self) -> &mut dyn Session {
        match self {
            Self::Plain(session) => &mut **session,
            Self::Stack(session) => &mut **session,
        }
    }
}

impl Opened {
    pub(crate) fn open(url: &str) -> larder::Result<Self> {
        let store = if url.starts_with("tiered:") {
            Opening::Stack(Arc::new(larder::open_tiers(url)?))
        } else {
            Opening::Plain(larder::open(url)?)
        };
        Ok(Self::of(store))
    }

    /// The namespace of a store.
    pub(crate) fn namespace(&self, name: &str) -> larder::Result<Self> {
        Ok(Self::of(Opening::Plain(self.store().namespace(name)?)))
    }

    fn of(store: Opening) -> Self {
        let capabilities = match &store {
            Opening::Plain(store) => store.capabilities(),
            Opening::Stack(stack) => larder::Store::capabilities(&**stack),
        };
        Self {
            store,
            capabilities,
            generation: generation(),
            free: Mutex::default(),
            leads: Leads::default(),
            loads: MeanLoad::default(),
        }
    }

    pub(crate) fn store(&self) -> &dyn larder::Store {
        match &self.store {
            Opening::Plain(store) => &**store,
            Opening::Stack(stack) => &**stack,
        }
    }

    /// Whether the process was forked since, and must not use what its parent has opened.
    pub(crate) fn is_inherited(&self) -> bool {
        self.generation != generation()
    }

    /// A session that nobody else uses.
    pub(crate) fn take(&self) -> larder::Result<Handle> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match (free, &self.store) {
            (Some(handle), _) => Ok(handle),
            (None, Opening::Plain(store)) => Ok(Handle::Plain(store.session()?)),
            (None, Opening::Stack(stack)) => Ok(Handle::Stack(Box::new(stack.open_session()?))),
        }
    }

    pub(crate) fn give(&self, handle: Handle) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    }

    /// Whether reads may wait for a disk or another process, while other threads of Python should run.
    pub(crate) fn reads_wait(&self) -> bool {
        self.capabilities.reads_wait > Waits::Seldom
    }

    /// The same of writes.
    pub(crate) fn writes_wait(&self) -> bool {
        self.capabilities.writes_wait > Waits::Seldom
    }

    /// Does some work that may write. Python's other threads run meanwhile where the store may wait.
    pub(crate) fn writing<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
        if self.writes_wait() { py.detach(work) } else { work() }
    }
}
