//! The layer that refuses in a forked child.
//!
//! Most engines have sockets, transactions or locks that a child must not share with its parent. [`Catalog::open`] wraps
//! every store whose [`Capabilities::forks`] is false. In a child all calls of the store and of its sessions return
//! [`Error::Forked`]. The store is not even dropped there: it would end its parent's server, close its parent's
//! connection in order, or roll its parent's transaction back.
//!
//! [`Catalog::open`]: crate::Catalog::open

use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::fork::Process;
use crate::layer::{Around, Call, Layer, Layered, Open, Outcome, PlainValues};
use crate::{Capabilities, Error, Result, Session, Store};

/// The store, with a guard unless a child may go on with it.
pub(crate) fn guarded(store: Arc<dyn Store>, engine: &'static str) -> Arc<dyn Store> {
    let capabilities = store.capabilities();
    if capabilities.forks {
        return store;
    }
    Arc::new(Layered(Guard { store: Owned::new(store), engine, capabilities }))
}

/// A value of the process that made it. Other processes can neither use nor drop it.
#[derive(Debug)]
struct Owned<T> {
    value: ManuallyDrop<T>,
    process: Process,
}

impl<T> Owned<T> {
    fn new(value: T) -> Self {
        Self { value: ManuallyDrop::new(value), process: Process::current() }
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        self.process.is_current().then_some(&self.value)
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut T> {
        self.process.is_current().then_some(&mut self.value)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.process.is_current() {
            // SAFETY: this is the only place that drops it, and `self` is not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[derive(Debug)]
struct Guard {
    store: Owned<Arc<dyn Store>>,
    engine: &'static str,
    /// For a child, which cannot ask.
    capabilities: Capabilities,
}

impl Layer for Guard {
    type Around = GuardedSession;
    type Codec = PlainValues;

    fn store(&self) -> Result<&dyn Store> {
        match self.store.get() {
            Some(store) => Ok(&**store),
            None => Err(Error::Forked { engine: self.engine }),
        }
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    fn capabilities(&self) -> Capabilities {
        self.store().map_or(self.capabilities, Store::capabilities)
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(GuardedSession, PlainValues)> {
        let session = open()?;
        let engine = session.engine();
        Ok((GuardedSession { session: Owned::new(session), engine }, PlainValues))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        let capabilities = namespace.capabilities();
        Self { store: Owned::new(namespace), engine: self.engine, capabilities }
    }
}

struct GuardedSession {
    session: Owned<Box<dyn Session>>,
    engine: &'static str,
}

impl Around for GuardedSession {
    const PIPELINES: bool = true;

    #[inline]
    fn call<T: Outcome>(
        &mut self,
        _: &Call<'_>,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        match self.session.get_mut() {
            Some(session) => run(&mut **session),
            None => Err(Error::Forked { engine: self.engine }),
        }
    }
}
