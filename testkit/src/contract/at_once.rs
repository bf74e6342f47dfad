//! Sessions of several threads that do the same at the same moment.

use std::sync::Barrier;

use larder_store::Session;
use libtest_mimic::Failed;

use super::fixture::Fixture;
use super::threads::THREADS;

/// The answers of one session in each thread. All sessions are open before the first one begins.
pub(super) fn at_once<T: Send>(
    fixture: &Fixture,
    act: impl Fn(&mut dyn Session) -> Result<T, Failed> + Sync,
) -> Result<Vec<T>, Failed> {
    let (store, begin, act) = (fixture.store()?, &Barrier::new(THREADS), &act);
    std::thread::scope(|scope| {
        let work = move || {
            let session = store.session();
            // A thread whose session does not open must not leave the others waiting.
            begin.wait();
            act(&mut *session?)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a panic")?).collect()
    })
}
