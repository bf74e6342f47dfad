//! A store that panics costs one client its connection, and nobody else anything.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::num::NonZero;
use std::sync::Arc;

use larder_server::Settings;
use larder_store::{
    Capabilities, Meta, Result, Session, SetOptions, SetOutcome, Stats, Store, StoreInfo, Waits,
};
use support::{Serving, settings, store};

/// A store that panics at each read of one key, and may wait for as long at a read.
#[derive(Debug)]
struct Panics(Arc<dyn Store>, Waits);

struct PanicsSession(Box<dyn Session>);

impl Store for Panics {
    fn info(&self) -> StoreInfo {
        self.0.info()
    }

    fn capabilities(&self) -> Capabilities {
        let (reads_wait, writes_wait) = (self.1, Waits::Disk);
        Capabilities { reads_wait, writes_wait, ..self.0.capabilities() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(PanicsSession(self.0.session()?)))
    }

    fn stats(&self) -> Result<Stats> {
        self.0.stats()
    }
}

impl Session for PanicsSession {
    fn engine(&self) -> &'static str {
        self.0.engine()
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        assert_ne!(key, b"panic");
        self.0.get(key, value)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.0.set(key, value, options)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.0.delete(key)
    }
}

#[test]
fn a_store_that_panics_costs_one_client_its_connection() {
    // Storage threads read in the first store, and event loops in the second one.
    for reads_wait in [Waits::Disk, Waits::Seldom] {
        let settings = Settings { storage_threads: NonZero::new(2).unwrap(), ..settings() };
        let store = Panics(store("memory:?size=16m"), reads_wait);
        let serving = Serving::of(Arc::new(store), settings);
        let mut other = serving.client();
        assert_eq!(other.set("key", b"value"), "STORED");
        // More often than there are threads.
        for _ in 0..5 {
            let mut client = serving.client();
            client.send(b"get panic\r\n");
            assert!(client.is_ended());
            assert_eq!(other.get("key").as_deref(), Some(&b"value"[..]));
        }
        serving.stop().unwrap();
    }
}
