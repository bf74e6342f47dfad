//! An open BerkeleyDB store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use larder_host::disk;
use larder_host::place::Place;
use larder_store::{
    ByteSize, Capabilities, Catalog, Durability, FileSystem, Ownership, Result, Session, Span,
    Stats, Store, StoreInfo, StoreUrl,
};

use super::SCHEME;
use super::config::{BdbConfig, Sync};
use super::environment::Environment;
use crate::records::{self, RecordSession, Shared};

/// An open BerkeleyDB store.
#[derive(Debug)]
struct BdbStore {
    url: String,
    config: BdbConfig,
    shared: Arc<Shared<Environment>>,
}

/// Opens the folder of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: BdbConfig = url.options(SCHEME)?;
    config.check()?;
    let environment = Environment::open(Place::of(SCHEME, url)?, &config)?;
    let (every, log) = (config.checkpoint.0, config.log.0);
    let shared = Shared::start(environment, move |records, ending| {
        let bdb = records.database.bdb();
        let log_kilobytes = u32::try_from(log >> 10).unwrap_or(u32::MAX);
        // Without an amount the checkpoint is always made, with an amount only after this much log.
        records.keep_up(ending, every, |is_due| {
            let _ = bdb.checkpoint(if is_due { 0 } else { log_kilobytes });
        });
        if records.database.is_kept() {
            // Then the next process that opens the folder has nothing to recover.
            let _ = bdb.checkpoint(0);
        }
    })?;
    Ok(Arc::new(BdbStore { url: url.to_string(), config, shared }))
}

impl BdbStore {
    fn environment(&self) -> &Environment {
        &self.shared.records.database
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let bdb = self.environment().bdb();
        let mut settings = BTreeMap::from([
            ("type".to_owned(), self.config.kind.as_str().to_owned()),
            ("sync".into(), self.config.sync.as_str().into()),
            ("checkpoint".into(), self.checkpoints()),
        ]);
        // Settings that cannot be read are left out.
        if let Ok((cache, log_file)) = bdb.settings() {
            settings.insert("cache".into(), ByteSize(cache).to_string());
            settings.insert("log_file".into(), ByteSize(log_file.into()).to_string());
        }
        if let Ok((_, page_size)) = bdb.pages() {
            settings.insert("page_size".into(), page_size.to_string());
        }
        settings
    }

    /// When checkpoints are made.
    fn checkpoints(&self) -> String {
        let log = self.config.log;
        match self.config.checkpoint.0 {
            Duration::ZERO => format!("after {log} of log"),
            every => format!("every {}, and after {log} of log", Span(every)),
        }
    }

    /// The durability of an acknowledged write. A checkpoint bounds the loss at a power cut; on a file system in memory
    /// nothing does.
    fn durability(&self, under: Option<&FileSystem>) -> Durability {
        let is_memory = under.is_some_and(FileSystem::is_memory);
        let is_bounded = !is_memory && !self.config.checkpoint.0.is_zero();
        match self.config.sync {
            Sync::Group if !is_memory => Durability::FsyncEach,
            Sync::Nosync | Sync::Write if is_bounded => Durability::FsyncBatch,
            Sync::Nosync => Durability::Volatile,
            Sync::Write | Sync::Group => Durability::OsCache,
        }
    }
}

impl Store for BdbStore {
    fn info(&self) -> StoreInfo {
        let folder = self.environment().folder();
        let file_system = disk::file_system(folder).ok();
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(self.environment().bdb().version()),
            settings: self.settings(),
            durability: self.durability(file_system.as_ref()),
            ownership: Ownership::Embedded,
            // Log files come and go, so the folder stands for all files.
            data_paths: vec![folder.to_owned()],
            file_system,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        // BerkeleyDB reads many keys at once only where they are neighbours.
        records::capabilities::<Environment>(false)
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(RecordSession::new(&self.shared)))
    }

    fn close(&self) -> Result<()> {
        self.environment().flush()
    }

    fn stats(&self) -> Result<Stats> {
        let environment = self.environment();
        let mut stats = self.shared.records.stats();
        // BerkeleyDB knows the number of entries only by counting them.
        let (pages, page_size) =
            environment.bdb().pages().map_err(|fault| environment.error(fault))?;
        stats.bytes = Some(u64::from(pages) * u64::from(page_size));
        Ok(stats)
    }
}
