//! An open fjall store.

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_host::disk;
use larder_host::place::Place;
use larder_store::{
    Capabilities, Catalog, Durability, Ownership, Result, Session, Stats, Store, StoreInfo,
    StoreUrl,
};

use super::SCHEME;
use super::config::FjallConfig;
use super::database::FjallDatabase;
use crate::records::sync::Sync;
use crate::records::{self, RecordSession, Shared};

/// The version of the crate `fjall`; it does not report it.
const VERSION: &str = "3.1.13";

/// An open fjall store.
#[derive(Debug)]
struct FjallStore {
    url: String,
    config: FjallConfig,
    shared: Arc<Shared<FjallDatabase>>,
}

/// Opens the folder of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: FjallConfig = url.options(SCHEME)?;
    config.check()?;
    let database = FjallDatabase::open(Place::of(SCHEME, url)?, &config)?;
    let every = config.checkpoint.0;
    let shared = Shared::start(database, move |records, ending| {
        records.keep_up(ending, every, |is_due| {
            if is_due {
                // A caller that writes meets the same failure.
                let _ = records.database.flush();
            }
        });
    })?;
    Ok(Arc::new(FjallStore { url: url.to_string(), config, shared }))
}

impl FjallStore {
    fn database(&self) -> &FjallDatabase {
        &self.shared.records.database
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let FjallConfig { sync, checkpoint, cache, memtable } = &self.config;
        let mut settings = BTreeMap::from([
            ("cache".to_owned(), cache.to_string()),
            ("sync".into(), sync.as_str().into()),
        ]);
        // fjall does not tell the size that a folder was made with.
        if self.database().is_new() {
            settings.insert("memtable".into(), memtable.to_string());
        }
        if *sync == Sync::Nosync {
            settings.insert("checkpoint".into(), checkpoint.to_string());
        }
        settings
    }
}

impl Store for FjallStore {
    fn info(&self) -> StoreInfo {
        let folder = self.database().folder();
        let file_system = disk::file_system(folder).ok();
        let FjallConfig { sync, checkpoint, .. } = self.config;
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(VERSION.into()),
            settings: self.settings(),
            durability: sync.durability(checkpoint, Durability::OsCache, file_system.as_ref()),
            ownership: Ownership::Embedded,
            // Files come and go, so the folder stands for all of them.
            data_paths: vec![folder.to_owned()],
            file_system,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        // fjall has no read of many keys.
        records::capabilities::<FjallDatabase>(false)
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(RecordSession::new(&self.shared)))
    }

    fn close(&self) -> Result<()> {
        if self.database().is_kept() { self.database().flush() } else { Ok(()) }
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = self.shared.records.stats();
        // fjall knows the number of entries only by counting them.
        stats.bytes = Some(self.database().bytes());
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
        assert!(lock.contains(&format!("name = \"fjall\"\nversion = \"{VERSION}\"")), "{VERSION}");
    }
}
