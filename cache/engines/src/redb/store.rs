//! An open redb store.

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_host::disk;
use larder_host::place::Place;
use larder_store::{
    Capabilities, Catalog, Durability, Ownership, Result, Session, Stats, Store, StoreInfo,
    StoreUrl,
};

use super::SCHEME;
use super::config::RedbConfig;
use super::database::RedbDatabase;
use crate::records::sync::Sync;
use crate::records::{self, RecordSession, Shared};

/// The version of the crate `redb`; it does not report it.
const VERSION: &str = "4.6.0";

/// An open redb store.
#[derive(Debug)]
struct RedbStore {
    url: String,
    config: RedbConfig,
    shared: Arc<Shared<RedbDatabase>>,
}

/// Opens the file of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: RedbConfig = url.options(SCHEME)?;
    config.check()?;
    let database = RedbDatabase::open(Place::of(SCHEME, url)?, &config)?;
    let every = config.checkpoint.0;
    let shared = Shared::start(database, move |records, ending| {
        records.keep_up(ending, every, |is_due| {
            if is_due {
                // A caller that writes meets the same failure.
                let _ = records.database.flush();
            }
        });
    })?;
    Ok(Arc::new(RedbStore { url: url.to_string(), config, shared }))
}

impl RedbStore {
    fn database(&self) -> &RedbDatabase {
        &self.shared.records.database
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let RedbConfig { sync, checkpoint, cache } = &self.config;
        let mut settings = BTreeMap::from([
            ("cache".to_owned(), cache.to_string()),
            ("sync".into(), sync.as_str().into()),
        ]);
        if *sync == Sync::Nosync {
            settings.insert("checkpoint".into(), checkpoint.to_string());
        }
        settings
    }
}

impl Store for RedbStore {
    fn info(&self) -> StoreInfo {
        let path = self.database().path();
        let file_system = disk::file_system(path).ok();
        let RedbConfig { sync, checkpoint, .. } = self.config;
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(VERSION.into()),
            settings: self.settings(),
            durability: sync.durability(checkpoint, Durability::Volatile, file_system.as_ref()),
            ownership: Ownership::Embedded,
            data_paths: vec![path.to_owned()],
            file_system,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        records::capabilities::<RedbDatabase>(true)
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(RecordSession::new(&self.shared)))
    }

    fn close(&self) -> Result<()> {
        if self.database().is_kept() { self.database().flush() } else { Ok(()) }
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = self.shared.records.stats();
        stats.items = Some(self.database().len()?);
        stats.bytes = Some(self.database().file_bytes()?);
        Ok(stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_is_built_in() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(lock).unwrap();
        assert!(lock.contains(&format!("name = \"redb\"\nversion = \"{VERSION}\"")), "{VERSION}");
    }
}
