//! The databases of a namespace inside an environment.

use std::thread;

use heed::byteorder::BE;
use heed::types::{Bytes, Str, U64};
use heed::{
    CommitOrAbort, Database, DatabaseFlags, DatabaseOpenOptions, DatabaseOpener, RoTxn, WithTls,
};
use larder_store::{Error, Result};

use super::SCHEME;
use super::environment::Environment;

/// The number of namespaces of one folder that a process can have open. Each transaction has room for all of them,
/// which costs every read a little.
pub(super) const NAMESPACES: u32 = 8;

/// Named databases that an environment has room for: three for each namespace.
pub(super) const DATABASES: u32 = 3 * NAMESPACES;

/// The key of the main database that marks the file as Larder's, and its value, the format.
const FORMAT_KEY: &str = "larder";
const FORMAT: &[u8] = b"3";
/// The format before tags existed, and the format in which a version was a transaction alone. Their records are valid in
/// this format. Then an older larder refuses the file, because its versions could repeat newer ones.
const OLD_FORMATS: [&[u8]; 2] = [b"1", b"2"];

/// The databases of a namespace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Databases {
    /// LMDB's own directory of databases. Every write changes it anyway, so the namespace's
    /// [`UsageRecord`](super::usage::UsageRecord) is kept there.
    pub(super) main: Database<'static, Str, Bytes>,
    /// Key to record.
    pub(super) entries: Database<'static, Bytes, Bytes>,
    /// Deadline to the keys that have it.
    pub(super) expiry: Database<'static, U64<BE>, Bytes>,
    /// Tag to the keys that have it.
    pub(super) tags: Database<'static, Bytes, Bytes>,
}

impl Databases {
    /// Opens the databases of a namespace, made when they are missing. A file of another program is refused.
    pub(super) fn open(environment: &Environment, namespace: &str) -> Result<Self> {
        // The slot of a reader is its thread's, and this thread may never read again.
        let there =
            thread::scope(|scope| scope.spawn(|| Self::open_there(environment, namespace)).join());
        if let Ok(Ok(Some(databases))) = there {
            return Ok(databases);
        }
        let opened = environment.write(|txn, _| {
            environment.env().create_databases_and_commit(txn, |opener, txn| {
                let main = opener.create_database::<Str, Bytes>(txn, None)?;
                match main.get(txn, FORMAT_KEY)? {
                    Some(FORMAT) => {}
                    Some(old) if OLD_FORMATS.contains(&old) => main.put(txn, FORMAT_KEY, FORMAT)?,
                    None if main.is_empty(txn)? => main.put(txn, FORMAT_KEY, FORMAT)?,
                    format => return Ok(CommitOrAbort::Abort(format.map(<[u8]>::to_vec))),
                }
                let [entries, expiry, tags] = names(namespace);
                let entries = opener.create_database::<Bytes, Bytes>(txn, Some(&entries))?;
                let expiry = index::<U64<BE>>(opener, &expiry).create(txn)?;
                let tags = index::<Bytes>(opener, &tags).create(txn)?;
                Ok::<_, heed::Error>(CommitOrAbort::Commit((main, entries, expiry, tags)))
            })
        });
        let holds = match opened.map_err(|error| environment.error(error))? {
            CommitOrAbort::Commit((main, entries, expiry, tags)) => {
                return Ok(Self { main, entries, expiry, tags });
            }
            CommitOrAbort::Abort(None) => "a database that larder did not make".to_owned(),
            CommitOrAbort::Abort(Some(format)) => {
                format!("entries of a later larder, in format `{}`", format.escape_ascii())
            }
        };
        let folder = environment.folder().display();
        let what = format!("{folder} holds {holds}; choose another folder");
        Err(Error::Unavailable { engine: SCHEME, what, source: None })
    }

    /// Opens the databases of a namespace without a write; `None` where there are none of this format. A process that only
    /// reads may have another class of durability than those that write.
    fn open_there(environment: &Environment, namespace: &str) -> heed::Result<Option<Self>> {
        let (txn, _pass) = environment.map().read()?.split();
        let opened = environment.env().open_databases_and_commit(txn, |opener, txn| {
            let Some(main) = opener.open_database::<Str, Bytes>(txn, None)? else {
                return Ok(CommitOrAbort::Abort(()));
            };
            if main.get(txn, FORMAT_KEY)? != Some(FORMAT) {
                return Ok(CommitOrAbort::Abort(()));
            }
            let [entries, expiry, tags] = names(namespace);
            let entries = opener.open_database::<Bytes, Bytes>(txn, Some(&entries))?;
            let expiry = index::<U64<BE>>(opener, &expiry).open(txn)?;
            let tags = index::<Bytes>(opener, &tags).open(txn)?;
            let (Some(entries), Some(expiry), Some(tags)) = (entries, expiry, tags) else {
                return Ok(CommitOrAbort::Abort(()));
            };
            Ok::<_, heed::Error>(CommitOrAbort::Commit((main, entries, expiry, tags)))
        })?;
        Ok(match opened {
            CommitOrAbort::Commit((main, entries, expiry, tags)) => {
                Some(Self { main, entries, expiry, tags })
            }
            CommitOrAbort::Abort(()) => None,
        })
    }

    /// Whether the entries and their indexes take more than `limit` pages.
    ///
    /// The tag index is read only where it can matter, because reading one more database costs a write a lookup in the
    /// directory. A pair of the index is no longer than its entry, and no page is less than a quarter full. So the
    /// index never has more than four times the pages of the entries.
    pub(super) fn exceed(&self, txn: &RoTxn, limit: usize) -> heed::Result<bool> {
        let pages =
            |stat: heed::DatabaseStat| stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        let others = pages(self.entries.stat(txn)?) + pages(self.expiry.stat(txn)?);
        if 5 * others <= limit {
            return Ok(false);
        }
        Ok(others + pages(self.tags.stat(txn)?) > limit)
    }
}

/// The names of a namespace's databases: of its entries, its deadlines and its tags.
fn names(namespace: &str) -> [String; 3] {
    ["entries", "expiry", "tags"].map(|name| format!("{namespace}.{name}"))
}

/// Whether a name in LMDB's directory is that of a database, of any namespace.
pub(super) fn is_database(name: &[u8]) -> bool {
    [&b".entries"[..], b".expiry", b".tags"].iter().any(|end| name.ends_with(end))
}

/// The options of an index, in which a key may have many values.
fn index<'e, 'n, K: 'static>(
    opener: &'n DatabaseOpener<'e, WithTls>,
    name: &'n str,
) -> DatabaseOpenOptions<'e, 'n, WithTls, K, Bytes> {
    let mut options = opener.database_options().types::<K, Bytes>();
    options.flags(DatabaseFlags::DUP_SORT).name(name);
    options
}
