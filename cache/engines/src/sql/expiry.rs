//! Removal of expired rows from a server that does not expire rows itself.
//!
//! The clock of each client decides on expiry. Where several clients share a table, a client with a fast clock removes
//! rows too early for clients with a slower one.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use larder_store::{Error, Result};

use super::connection::{Connection, Value};
use super::table::Table;

/// The number of rows that are deleted with one statement: few enough that sessions hardly wait for
/// it.
const BATCH: u64 = 256;

/// The longest time of the last removal, on a server that stays.
const LAST_LOOK: Duration = Duration::from_secs(3);

/// A thread with a connection of its own, which ends with its owner.
#[derive(Debug)]
pub struct Expiry {
    /// Nothing is ever sent: the drop of the sender is the message.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Expiry {
    /// Starts to remove expired rows, at each `interval`. The connection may be one that opens at its first use. A
    /// failure is tried again at the next interval and is not reported, because an expired entry is never read. On a
    /// server that stays, expired rows are removed once more at the end, because there may be no later client to remove
    /// them.
    pub fn start(
        table: Arc<Table>,
        mut connection: impl Connection + Send + 'static,
        interval: Duration,
    ) -> Result<Self> {
        let (end, ended) = channel();
        let engine = table.engine;
        let look = move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(interval) {
                // The end may come between two batches, too.
                while let Ok(BATCH..) = expire(&table, &mut connection)
                    && let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::ZERO)
                {
                }
            }
            let deadline = Instant::now() + LAST_LOOK;
            while !table.ends_with_store()
                && Instant::now() < deadline
                && let Ok(BATCH..) = expire(&table, &mut connection)
            {}
        };
        let thread = Builder::new().name(format!("{engine} expiry")).spawn(look);
        let thread = thread.map_err(|source| Error::Io {
            engine,
            what: "starting the thread that removes expired rows".into(),
            source,
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Expiry {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing, not even after a panic.
            let _ = thread.join();
        }
    }
}

/// Deletes some expired rows; returns how many.
fn expire(table: &Table, connection: &mut dyn Connection) -> Result<u64> {
    let limit = Value::Integer(i64::try_from(BATCH).unwrap_or(i64::MAX));
    let values = [Value::Integer(table.now_ms()), limit];
    let expired = connection.change(&table.statements.expire, &values)?;
    table.dropped.count(0, expired);
    Ok(expired)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use larder_store::Stats;
    use larder_testkit::{PATIENCE, within};

    use super::*;
    use crate::sql::connection::{Row, Statement};
    use crate::sql::dialect::SQLITE;
    use crate::sql::statements::Statements;
    use crate::sql::table::Limits;

    /// A database with this many expired rows.
    struct Database(Arc<AtomicU64>);

    impl Connection for Database {
        fn change(&mut self, _: &Statement, values: &[Value<'_>]) -> Result<u64> {
            let [Value::Integer(_), Value::Integer(limit)] = values else { panic!("{values:?}") };
            let left = self.0.load(Ordering::SeqCst);
            let deleted = left.min(limit.unsigned_abs());
            self.0.store(left - deleted, Ordering::SeqCst);
            Ok(deleted)
        }

        fn rows(
            &mut self,
            _: &Statement,
            _: &[Value<'_>],
            _: &mut dyn FnMut(&dyn Row) -> Result<()>,
        ) -> Result<()> {
            panic!("expiry reads nothing")
        }
    }

    #[test]
    fn expired_rows_go_in_batches_until_all_are_gone() {
        let statements = Statements::new(&SQLITE, "t", "");
        let limits = Limits { key_len: 1, value_len: 1 };
        let table = Arc::new(Table::new("test", statements, limits));
        let left = Arc::new(AtomicU64::new(2 * BATCH + 1));
        let connection = Database(Arc::clone(&left));
        let interval = Duration::from_millis(20);
        let expiry = Expiry::start(Arc::clone(&table), connection, interval).unwrap();
        assert!(within(PATIENCE, || left.load(Ordering::SeqCst) == 0));
        drop(expiry);
        let mut stats = Stats::default();
        table.dropped.write_to(&mut stats);
        assert_eq!(stats.expirations, Some(2 * BATCH + 1));
        assert_eq!(Arc::strong_count(&left), 1, "the thread has ended, and its connection with it");
    }

    #[test]
    fn on_a_server_that_stays_expired_rows_go_in_the_end() {
        for (stays, n_left) in [(true, 0), (false, 2 * BATCH + 1)] {
            let limits = Limits { key_len: 1, value_len: 1 };
            let table = Table::new("test", Statements::new(&SQLITE, "t", ""), limits);
            let table = Arc::new(Table { may_clear: !stays, ..table });
            let left = Arc::new(AtomicU64::new(2 * BATCH + 1));
            let connection = Database(Arc::clone(&left));
            drop(Expiry::start(table, connection, Duration::from_hours(1)).unwrap());
            assert_eq!(left.load(Ordering::SeqCst), n_left);
        }
    }
}
