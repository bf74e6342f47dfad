//! Larder's own cache is tortured, and held to its promises.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "so that the figures can be read")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use larder_segment::{Cache, Options, Queue, Set};

use crate::ledger::{Ledger, Tally};
use crate::run::{Outcome, Run};
use crate::sources::Programs;
use crate::stopwatch::waited_of;
use crate::work::{Worker, session_of};
use crate::{FOLDER, MODE, MODES, NUMBER, PRESENT, mode, support, table};

/// The most time for kills and hits that a machine with other work comes to late.
const PATIENCE: Duration = Duration::from_mins(5);

/// For so long nobody is alone with the file.
const TOGETHER: Duration = Duration::from_millis(2500);

/// Tortures the cache for this time, in each mode for its share.
pub(crate) fn torture(how_long: Duration) -> Outcome {
    let modes = u32::try_from(MODES.len()).unwrap();
    let mut all = Outcome::default();
    for number in (0..MODES.len()).rev() {
        PRESENT.store(number, Ordering::Relaxed);
        all.add(torture_one(how_long / modes));
    }
    all
}

fn torture_one(how_long: Duration) -> Outcome {
    let folder = if mode().is_on_disk {
        tempfile::tempdir_in("/var/tmp").unwrap()
    } else {
        support::folder()
    };
    let outcome = run(folder.path(), how_long);
    let count = |of: Tally| outcome.count(of);
    assert_eq!((count(Tally::Wrong), count(Tally::Old)), (0, 0), "what is wrong or old was read");
    // A hang cannot be judged if the system does not tell how long a process waited for a
    // processor.
    if waited_of(std::process::id()).is_some() {
        assert_eq!(outcome.judged.hangs, 0, "it hung");
    }
    outcome
}

fn command(folder: &Path, number: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(FOLDER, folder).env(NUMBER, number.to_string());
    command.env(MODE, PRESENT.load(Ordering::Relaxed).to_string());
    command
}

/// Whether the index has grown into segments.
fn is_index_grown(cache: &Cache) -> bool {
    let partitions = cache.survey().partitions;
    partitions.iter().flat_map(|of| &of.segments).any(|segment| segment.queue == Queue::Index)
}

fn run(folder: &Path, how_long: Duration) -> Outcome {
    let (path, ledger) = (folder.join("cache"), Ledger::open(folder));
    let mut cache = Cache::open(&path, &mode().options).unwrap();
    // A large file takes the system a second to make.
    let began = Instant::now();
    let mut is_grown = false;
    let mut run = Run::new(Box::new(Programs::new(|number| command(folder, number))), ledger);
    run.herd.sampler.seen().cache = Some(Arc::clone(&cache));
    run.start_all();
    let is_small = cache.shape()[0].1 == 1;
    let has_suffered = |run: &Run<'_>, (is_grown, is_full): (bool, bool)| {
        let (kills, hits) = (run.outcome.kills, ledger.count(Tally::Hits));
        let seconds = how_long.as_secs();
        kills > 2 * seconds
            && hits > 1000 * seconds
            && ledger.count(Tally::Strangers) > 0
            && ledger.count(Tally::Leased) > 0
            && (is_grown || !is_small)
            && (is_full || mode().is_roomy)
    };
    let is_full = |cache: &Cache| cache.stats().evictions() > 0;
    while began.elapsed() < how_long || !has_suffered(&run, (is_grown, is_full(&cache))) {
        assert!(began.elapsed() < how_long + PATIENCE, "nothing was tortured");
        let left = how_long.saturating_sub(began.elapsed());
        let together = if left.is_zero() { TOGETHER } else { TOGETHER.min(left) };
        assert!(run.torture(together), "nobody gets on after {} kills", run.outcome.kills);
        assert_eq!(run.outcome.crashes, [""; 0], "workers ended by themselves");
        run.kill_all();
        ledger.end_all_changes();
        run.herd.sampler.seen().cache = None;
        drop(cache);
        // No other process has it open, so this one makes the locks anew.
        cache = Cache::open(&path, &Options { size: 16 << 20, ..mode().options }).unwrap();
        assert_eq!(cache.size(), mode().options.size);
        let partitions = cache.shape()[0].1;
        is_grown |= is_index_grown(&cache);
        assert_eq!((0..partitions).find_map(|partition| cache.holder(partition)), None);
        Worker::open(folder, 0).check_all();
        run.herd.sampler.seen().cache = Some(Arc::clone(&cache));
        run.start_all();
    }
    let outcome = run.end(Some(&session_of(&cache)));
    let stats = cache.stats();
    println!("{}", table::ours(&outcome, &stats));
    assert_eq!(stats.damaged, 0, "entries were damaged");
    let present = PRESENT.load(Ordering::Relaxed);
    assert_eq!(cache.shape()[0].1, [2, 1, 4, 64][present], "partitions");
    // It still works.
    let mut session = cache.session();
    session.set(b"after", b"all", &Set::default()).unwrap();
    assert!(session.get(b"after", &mut Vec::new()).is_some());
    outcome
}
