//! Layers: what any store can have around it, as a breaker, repeated calls, or compressed values.
//!
//! A layer does not repeat the methods of stores and sessions. [`Layered`] is the one place that forwards them, and a
//! layer has two hooks there. [`Around`] is around each call of a session: it may refuse the call, make it again, time or
//! count it. [`Codec`] changes values on their way to the store and back. Both are type parameters, so that a hook that
//! does nothing costs nothing.
//!
//! A catalog has a list of [`StoreLayer`]s: the options by which the URL of any store asks for layers.

mod call;
mod codec;
mod option;
mod outcome;
mod parts;
mod session;
mod store;

pub use call::{Call, CallKind, Keys};
pub use codec::{Codec, PlainValues};
pub(crate) use option::take_layers;
pub use option::{StoreLayer, Wrap};
pub use outcome::Outcome;
pub use session::LayeredSession;
pub use store::Layered;

use std::fmt;
use std::sync::Arc;

use crate::{Capabilities, Counter, Permits, Result, Session, Store, StoreInfo};

/// A layer around an open store, which it owns.
pub trait Layer: fmt::Debug + Send + Sync + 'static {
    /// Its hook around the calls of a session.
    type Around: Around + 'static;
    /// Its hook for values; [`PlainValues`] leaves them as they are.
    type Codec: Codec + 'static;

    /// The store inside.
    fn store(&self) -> Result<&dyn Store>;

    /// The scheme of the engine, also where the store inside cannot be asked.
    fn engine(&self) -> &'static str;

    /// The capabilities that are left.
    fn capabilities(&self) -> Capabilities;

    /// The hooks of a new session. The session inside comes from `open`, and the hook around calls owns it.
    fn session(&self, open: &mut Open<'_>) -> Result<(Self::Around, Self::Codec)>;

    /// The same layer around a namespace of its store. The two share the layer's state.
    #[must_use]
    fn within(&self, namespace: Arc<dyn Store>) -> Self;

    /// Adds the settings of the layer.
    fn describe(&self, info: &mut StoreInfo) {
        let _ = info;
    }

    /// Gives the layer's breakers permits that several processes share.
    fn share_probes(&self, permits: &Arc<dyn Permits>) {
        let _ = permits;
    }

    /// The counters of the layer.
    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }
}

/// Opens the session inside a layer.
pub type Open<'a> = dyn FnMut() -> Result<Box<dyn Session>> + 'a;

/// The hook around the calls of one session, which it owns.
pub trait Around: Send {
    /// Whether it looks at [`Call::n_hits`], [`Call::is_answered`], [`Call::has_fault`] or [`Call::entry_error`]. It costs a
    /// step an entry.
    const WATCHES_ENTRIES: bool = false;

    /// Whether requests may be sent without waiting. Such a request has no call that the hook could be around.
    const PIPELINES: bool = false;

    /// Makes a call: `run` does it with the session inside. It may be run again, or not at all.
    fn call<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T>;
}

/// A hook that does nothing around a call, for layers that only change values.
pub struct Through(pub Box<dyn Session>);

impl fmt::Debug for Through {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Through").field(&self.0.engine()).finish()
    }
}

impl Around for Through {
    fn call<T: Outcome>(
        &mut self,
        _: &Call<'_>,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        run(&mut *self.0)
    }
}
