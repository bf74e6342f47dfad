//! The thread of a store that gives expired entries back while nobody writes. Writes do the same for as many as they add.
//!
//! Only a process that writes has the class of durability that a change needs, so the thread of a process that only reads
//! changes nothing. It works when no other writes, in small transactions, and rests as long as each took: a write waits for
//! one of these at most.

use std::time::{Duration, Instant};

use super::eviction::EXPIRED_PER_WRITE;
use super::store::Shared;
use super::writer::{Bounded, Buffers, WriteTransaction};
use crate::upkeep::Ending;

/// The time between two looks for expired entries.
const PAUSE: Duration = Duration::from_secs(1);

/// The entries of one transaction, in the steps of a write.
const STEPS: usize = 4;

/// The shortest rest after a transaction.
const SHORTEST_REST: Duration = Duration::from_millis(1);

/// Gives expired entries back until the store ends. A failure does not end the thread: it tries again later, and sessions
/// that write meet the same failure.
pub(super) fn work(shared: &Shared, ending: &Ending) {
    let mut buffers = Buffers::default();
    while !ending.within(PAUSE) {
        loop {
            let began = Instant::now();
            let is_more = matches!(give_back(shared, &mut buffers), Ok(true));
            if !is_more || ending.within(began.elapsed().max(SHORTEST_REST)) {
                break;
            }
        }
    }
}

/// Removes some expired entries, if nobody writes; whether there may be more of them.
pub(super) fn give_back(shared: &Shared, buffers: &mut Buffers) -> heed::Result<bool> {
    let Shared { environment, databases, usage_key, limits, used, clock, dropped, .. } = shared;
    let given_back = environment.write_if_free(|txn, space| {
        let bounded = Bounded { usage_key, limits: *limits, used, space };
        let mut writer = WriteTransaction::new(txn, *databases, bounded, clock.now_ms(), buffers)?;
        let mut n_steps = 0;
        while n_steps < STEPS && writer.expire()? == EXPIRED_PER_WRITE {
            n_steps += 1;
        }
        let expirations = writer.expirations;
        writer.commit()?;
        dropped.count(0, expirations);
        Ok(n_steps == STEPS)
    })?;
    Ok(given_back.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use larder_host::place::Place;

    use larder_host::scratch::ScratchDir;
    use larder_store::{Clock, Session, SetOptions};

    use super::*;
    use crate::lmdb::config::LmdbConfig;
    use crate::lmdb::session::LmdbSession;

    #[test]
    fn expired_entries_go_while_nobody_writes_and_this_process_has_written() {
        let folder = ScratchDir::create("lmdb").unwrap();
        let clock = Clock::manual(1_000_000);
        let open = || {
            let place = Place::Given(folder.path().to_owned());
            let shared = Shared::open(place, &LmdbConfig::default()).unwrap();
            Arc::new(Shared { clock: clock.clone(), ..shared })
        };
        let n_entries = |shared: &Shared| {
            let txn = shared.environment.read().unwrap();
            shared.databases.entries.len(&txn).unwrap()
        };
        let shared = open();
        let mut session = LmdbSession::new(Arc::clone(&shared));
        let options = SetOptions { ttl: Some(Duration::from_secs(9)), ..SetOptions::default() };
        for key in 0..200_u8 {
            session.set(&[key], b"value", &options).unwrap();
        }
        clock.advance(Duration::from_secs(10));
        let mut buffers = Buffers::default();
        // Another writes: it is not waited for.
        let is_more = shared.environment.write(|_, _| {
            let tried = thread::scope(|scope| {
                scope.spawn(|| give_back(&shared, &mut buffers).unwrap()).join().unwrap()
            });
            Ok(tried)
        });
        assert_eq!((is_more.unwrap(), n_entries(&shared)), (false, 200));
        // A process that only reads changes nothing.
        drop((session, shared));
        let shared = open();
        assert_eq!((give_back(&shared, &mut buffers).unwrap(), n_entries(&shared)), (false, 200));
        LmdbSession::new(Arc::clone(&shared)).delete(b"absent").unwrap();
        let few = STEPS as u64 * EXPIRED_PER_WRITE as u64;
        let left = n_entries(&shared);
        assert!(give_back(&shared, &mut buffers).unwrap());
        assert_eq!(n_entries(&shared), left - few);
        while give_back(&shared, &mut buffers).unwrap() {}
        assert_eq!(n_entries(&shared), 0);
    }
}
