//! Transactions of several statements on a server, which may give one up because of another.

use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::thread::sleep;
use std::time::Duration;

use larder_store::Result;

use super::connection::Connection;

/// The number of attempts of a transaction of several statements, which meets others more often than one statement does.
const ATTEMPTS: u32 = 20;

/// The transaction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// Each statement is one.
    None,
    /// A transaction has begun.
    Open,
    /// The server gave it up because of another one.
    GivenUp,
}

/// A connection to a server whose transactions begin and end by statements.
pub trait Attempts: Connection + Sized {
    /// The present transaction.
    fn present(&mut self) -> &mut Transaction;

    /// Begins a transaction.
    fn begin(&mut self) -> Result<()>;

    /// Makes the statements of the transaction take effect.
    fn commit(&mut self) -> Result<()>;

    /// Undoes the transaction. If that fails, the connection ends, and the server undoes it.
    fn undo(&mut self);
}

/// Runs `work` as one transaction, again from its beginning where the server gave it up.
pub fn transaction<C: Attempts>(
    connection: &mut C,
    work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>,
) -> Result<()> {
    let mut attempt = 1;
    loop {
        connection.begin()?;
        *connection.present() = Transaction::Open;
        let done = work(connection).and_then(|()| connection.commit());
        let was = mem::replace(connection.present(), Transaction::None);
        if done.is_ok() {
            return done;
        }
        connection.undo();
        if was != Transaction::GivenUp || attempt == ATTEMPTS {
            return done;
        }
        // Two that began again at once would meet again.
        let most = u64::from(2 * attempt);
        sleep(Duration::from_millis(RandomState::new().hash_one(attempt) % (most + 1)));
        attempt += 1;
    }
}
