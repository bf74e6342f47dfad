//! The cost of `lmdb:` on top of LMDB: deadlines, versions, counts of bytes, room for the next.
//!
//! Run with `cargo bench -p larder-engines --bench floor_lmdb`.

mod embedded;

use std::path::Path;

use embedded::{Bare, Result, measure};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions};

struct Heed {
    env: Env,
    database: Database<'static, Bytes, Bytes>,
}

fn main() -> Result<()> {
    measure("lmdb", |folder: &Path| {
        std::fs::create_dir(folder)?;
        let mut options = EnvOpenOptions::new();
        options.map_size(1 << 30).max_dbs(1);
        // SAFETY: no other process knows the folder, and it need not survive.
        let env = unsafe { options.flags(EnvFlags::NO_SYNC).open(folder) }?;
        let database = env
            .create_databases_and_commit(env.write_txn()?, |opener, txn| {
                let database = opener.create_database(txn, Some("bare"))?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(database))
            })?
            .unwrap_commit();
        Ok(Heed { env, database })
    })
}

impl Bare for Heed {
    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<()> {
        let txn = self.env.read_txn()?;
        value.clear();
        value.extend_from_slice(self.database.get(&txn, key)?.ok_or("a miss")?);
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        self.database.put(&mut txn, key, value)?;
        Ok(txn.commit()?)
    }
}
