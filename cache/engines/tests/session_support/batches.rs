//! Two sessions that store the same keys in batches at once.

use std::thread;

use larder_store::{Put, SetMode, SetOptions, Store};

/// Batches of entries that need a statement each, in opposite orders: databases that lock rows give some of them up.
/// All entries must be stored, and be told once.
pub(crate) fn opposite_batches_are_all_stored(store: &dyn Store) {
    const ROUNDS: usize = 20;
    let keys: Vec<Vec<u8>> = (0..20).map(|i| format!("opposite {i}").into_bytes()).collect();
    let of = |mode| SetOptions { mode, ..SetOptions::default() };
    let entries =
        |mode| keys.iter().map(move |key| Put { key, value: b"value", options: of(mode) });
    let first: Vec<Put<'_>> = entries(SetMode::Set).collect();
    store
        .session()
        .unwrap()
        .set_many(&first, &mut |_, outcome| assert!(outcome.unwrap().is_stored()))
        .unwrap();
    let replace = |batch: Vec<Put<'_>>| {
        let mut session = store.session().unwrap();
        for _ in 0..ROUNDS {
            let mut n_stored = 0;
            let mut done = |i, outcome: larder_store::Result<larder_store::SetOutcome>| {
                assert_eq!(i, n_stored);
                assert!(outcome.unwrap().is_stored());
                n_stored += 1;
            };
            session.set_many(&batch, &mut done).unwrap();
            assert_eq!(n_stored, keys.len());
        }
    };
    thread::scope(|scope| {
        let upward: Vec<_> = entries(SetMode::Replace).collect();
        let downward: Vec<_> = entries(SetMode::Replace).rev().collect();
        // Plain entries go in the order of their keys, whatever the order of the batch.
        let plain: Vec<_> = entries(SetMode::Set).rev().collect();
        let threads = [upward, downward, plain].map(|batch| scope.spawn(|| replace(batch)));
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut n_deleted = 0;
    let mut session = store.session().unwrap();
    session.delete_many(&keys, &mut |_, there| n_deleted += usize::from(there.unwrap())).unwrap();
    assert_eq!(n_deleted, keys.len());
}
