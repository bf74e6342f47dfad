//! The peers: libraries that keep values too, each doing the same work.

use std::path::Path;
use std::sync::Arc;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithTls};
use quick_cache::Weighter;
use rapidhash::fast::RandomState;

use crate::Result;
use crate::caches::{Cache, Sets};
use crate::keys::Key;

/// LMDB through heed, as the engine `lmdb:` has it: a transaction for every operation, and nothing waits for a disk.
pub(crate) struct Lmdb {
    // Declared before its environment, so that it is dropped first.
    kept: Option<RoTxn<'static, WithTls>>,
    keeps: bool,
    database: Database<'static, Bytes, Bytes>,
    env: Env,
}

impl Lmdb {
    /// A new database in a new folder. With `keeps`, one transaction is kept open for all reads; it sees no later
    /// change.
    pub(crate) fn create(folder: &Path, keeps: bool) -> Result<Self> {
        std::fs::create_dir(folder)?;
        let mut options = EnvOpenOptions::new();
        options.map_size(1 << 30).max_dbs(1);
        // SAFETY: no other process knows the folder, and it is not meant to survive.
        let env = unsafe { options.flags(EnvFlags::NO_SYNC).open(folder) }?;
        let database = env
            .create_databases_and_commit(env.write_txn()?, |opener, txn| {
                let database = opener.create_database(txn, Some("bench"))?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(database))
            })?
            .unwrap_commit();
        Ok(Self { kept: None, keeps, database, env })
    }

    #[inline]
    fn copy(&self, txn: &RoTxn<'_>, key: &Key, value: &mut Vec<u8>) -> bool {
        value.clear();
        let found = self.database.get(txn, key).expect("LMDB reads");
        found.inspect(|found| value.extend_from_slice(found)).is_some()
    }
}

impl Cache for Lmdb {
    #[inline]
    fn get(&mut self, key: &Key, _: usize, value: &mut Vec<u8>) -> bool {
        match &self.kept {
            Some(txn) => self.copy(txn, key, value),
            None => self.copy(&self.env.read_txn().expect("a transaction"), key, value),
        }
    }
}

impl Sets for Lmdb {
    #[inline]
    fn set(&mut self, key: &Key, value: &[u8]) {
        let mut txn = self.env.write_txn().expect("a transaction");
        self.database.put(&mut txn, key, value).expect("LMDB writes");
        txn.commit().expect("LMDB commits");
    }

    fn settle(&mut self) {
        if self.keeps {
            self.kept = Some(self.env.clone().static_read_txn().expect("a transaction"));
        }
    }
}

/// moka, with a hash that is as fast as ours in place of its own, which is slower.
pub(crate) struct Moka(moka::sync::Cache<Box<[u8]>, Arc<[u8]>, RandomState>);

impl Moka {
    /// A cache for this many bytes of keys and values.
    pub(crate) fn new(bytes: usize) -> Self {
        let builder = moka::sync::Cache::<Box<[u8]>, Arc<[u8]>>::builder();
        let bounded = builder.max_capacity(bytes as u64).weigher(|key, value| weight(key, value));
        Self(bounded.build_with_hasher(RandomState::new()))
    }
}

impl Cache for Moka {
    #[inline]
    fn get(&mut self, key: &Key, _: usize, value: &mut Vec<u8>) -> bool {
        value.clear();
        self.0.get(&key[..]).inspect(|found| value.extend_from_slice(found)).is_some()
    }
}

impl Sets for Moka {
    #[inline]
    fn set(&mut self, key: &Key, value: &[u8]) {
        self.0.insert(key[..].into(), value.into());
    }

    fn settle(&mut self) {
        self.0.run_pending_tasks();
    }
}

/// `quick_cache`.
pub(crate) struct Quick(quick_cache::sync::Cache<Box<[u8]>, Arc<[u8]>, Weigh>);

#[derive(Debug, Clone)]
struct Weigh;

impl Weighter<Box<[u8]>, Arc<[u8]>> for Weigh {
    fn weight(&self, key: &Box<[u8]>, value: &Arc<[u8]>) -> u64 {
        u64::from(weight(key, value))
    }
}

impl Quick {
    /// A cache for this many bytes of keys and values; a key and its value together have about the length `each`.
    pub(crate) fn new(bytes: usize, each: usize) -> Self {
        Self(quick_cache::sync::Cache::with_weighter(bytes / each, bytes as u64, Weigh))
    }
}

impl Cache for Quick {
    #[inline]
    fn get(&mut self, key: &Key, _: usize, value: &mut Vec<u8>) -> bool {
        value.clear();
        self.0.get(&key[..]).inspect(|found| value.extend_from_slice(found)).is_some()
    }
}

impl Sets for Quick {
    #[inline]
    fn set(&mut self, key: &Key, value: &[u8]) {
        self.0.insert(key[..].into(), value.into());
    }
}

fn weight(key: &[u8], value: &[u8]) -> u32 {
    u32::try_from(key.len() + value.len()).unwrap_or(u32::MAX)
}
