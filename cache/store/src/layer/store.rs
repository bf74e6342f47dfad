//! A store with a layer around it.

use std::sync::Arc;

use super::{Layer, LayeredSession};
use crate::{
    Capabilities, Channel, ChannelKind, Counter, Gate, Permits, Result, Session, Stats, Store,
    StoreInfo, TierStats,
};

/// A store with a layer around it.
#[derive(Debug)]
pub struct Layered<L>(pub L);

impl<L: Layer> Store for Layered<L> {
    fn info(&self) -> StoreInfo {
        let unknown = |_| StoreInfo { scheme: self.0.engine(), ..StoreInfo::default() };
        let mut info = self.0.store().map_or_else(unknown, Store::info);
        self.0.describe(&mut info);
        info
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let mut parts = [false; 3];
        let (around, codec) = self.0.session(&mut || {
            let mut session = self.0.store()?.session()?;
            parts = [
                session.groups().is_some(),
                session.leases().is_some(),
                session.pipeline().is_some(),
            ];
            Ok(session)
        })?;
        Ok(Box::new(LayeredSession::new(around, codec, self.0.engine(), parts)))
    }

    fn stats(&self) -> Result<Stats> {
        self.0.store()?.stats()
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        self.0.store()?.external_stats()
    }

    fn counters(&self) -> Result<Vec<Counter>> {
        let mut counters = self.0.store()?.counters()?;
        counters.extend(self.0.counters());
        Ok(counters)
    }

    fn close(&self) -> Result<()> {
        self.0.store()?.close()
    }

    fn namespace(&self, name: &str) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(Self(self.0.within(self.0.store()?.namespace(name)?))))
    }

    fn remove_namespace(&self, name: &str) -> Result<bool> {
        self.0.store()?.remove_namespace(name)
    }

    fn gate_servers(&self, make: &mut dyn FnMut(&str) -> Arc<dyn Gate>) -> bool {
        self.0.store().is_ok_and(|store| store.gate_servers(make))
    }

    fn share_probes(&self, permits: &Arc<dyn Permits>) {
        self.0.share_probes(permits);
        if let Ok(store) = self.0.store() {
            store.share_probes(permits);
        }
    }

    fn channel(&self, kind: ChannelKind<'_>) -> Result<Arc<dyn Channel>> {
        self.0.store()?.channel(kind)
    }

    fn tiers(&self) -> Vec<TierStats> {
        self.0.store().map_or_else(|_| Vec::new(), Store::tiers)
    }
}
