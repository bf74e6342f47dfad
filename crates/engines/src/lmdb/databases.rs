//! The databases of a namespace inside an environment.

use heed::byteorder::BE;
use heed::types::{Bytes, Str, U64};
use heed::{CommitOrAbort, Database, DatabaseFlags, RoTxn};
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
/// this format. An older larder refuses the file from then on, because its versions could repeat newer ones.
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
        let opened = environment.write(|| {
            let txn = environment.env().write_txn()?;
            environment.env().create_databases_and_commit(txn, |opener, txn| {
                let main = opener.create_database::<Str, Bytes>(txn, None)?;
                match main.get(txn, FORMAT_KEY)? {
                    Some(FORMAT) => {}
                    Some(old) if OLD_FORMATS.contains(&old) => main.put(txn, FORMAT_KEY, FORMAT)?,
                    None if main.is_empty(txn)? => main.put(txn, FORMAT_KEY, FORMAT)?,
                    format => return Ok(CommitOrAbort::Abort(format.map(<[u8]>::to_vec))),
                }
                let entries = format!("{namespace}.entries");
                let entries = opener.create_database::<Bytes, Bytes>(txn, Some(&entries))?;
                let expiry = opener
                    .database_options()
                    .types::<U64<BE>, Bytes>()
                    .flags(DatabaseFlags::DUP_SORT)
                    .name(&format!("{namespace}.expiry"))
                    .create(txn)?;
                let tags = opener
                    .database_options()
                    .types::<Bytes, Bytes>()
                    .flags(DatabaseFlags::DUP_SORT)
                    .name(&format!("{namespace}.tags"))
                    .create(txn)?;
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
