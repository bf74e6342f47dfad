//! Two processes that read 95 times of a hundred and write five times.
//!
//! The cost of sharing shows in two processes on one region, beside two processes that have a region each, and beside
//! one process twice. The cost of a cache as such shows beside two processes that draw the same keys and copy the same
//! bytes. Each of those has memory of its own, and looks nothing up.

use std::path::Path;
use std::time::Duration;

use larder_analysis::statistics::median;
use larder_segment::{Cache, Stats};

use crate::caches::{Own, filled, options};
use crate::contender::order;
use crate::report::{self, Goal, figures, goal, ratio};
use crate::worker::{Kind, Load, SIZE, Worker};
use crate::{Result, Scale, scratch};

/// The lengths of values, and their bytes together: as many keys as in the other parts, or fewer. The longest values
/// may be stored in chunks, by how long the region's segments are.
const LENS: [usize; 3] = [100, 4 << 10, 16 << 10];
const KEYS: usize = 10_000;
const BYTES: usize = 16 << 20;

const ROUNDS: usize = 25;
const MS: usize = 50;

/// Some processes that do the same work at the same time.
struct Crew {
    name: &'static str,
    workers: Vec<Worker>,
    /// Millions of operations a second, all together, round by round.
    rounds: Vec<f64>,
    /// The largest part of a round's operations that found no value.
    misses: f64,
    /// The part of its time for which each process waited for a processor.
    waited: Vec<f64>,
}

pub(crate) fn measure(scale: Scale) -> Result<()> {
    for len in LENS {
        measure_one(Load { len, keys: KEYS.min(BYTES / len) }, scale)?;
    }
    Ok(())
}

fn measure_one(load: Load, scale: Scale) -> Result<()> {
    let folder = scratch()?;
    let file = folder.path().join("cache");
    let cache = Cache::open(&file, &options(SIZE, load.len))?;
    filled(Own(cache.session()), load.keys, load.len)?;
    let start = |name, kind, n: usize| Crew::start(name, kind, n, &file, load);
    let mut crews = [
        start("two processes on one region (mmap:)", Kind::Shared, 2)?,
        start("one process on it", Kind::Shared, 1)?,
        start("two processes, each on a region of its own (memory:)", Kind::Apart, 2)?,
        start("one process on its own", Kind::Apart, 1)?,
        start("floor: two processes that only copy", Kind::Copies, 2)?,
        start("floor: one process that only copies", Kind::Copies, 1)?,
    ];
    let time = Duration::from_millis(scale.of(MS, 2) as u64);
    for round in 0..scale.of(ROUNDS, 2) {
        for at in order(round, crews.len()) {
            crews[at].take(time)?;
        }
    }
    print(&crews, &cache.stats(), load);
    Ok(())
}

impl Crew {
    fn start(name: &'static str, kind: Kind, n: usize, file: &Path, load: Load) -> Result<Self> {
        let workers = (1..=n).map(|seed| Worker::start(kind, file, load, seed));
        let workers = workers.collect::<Result<_>>()?;
        Ok(Self { name, workers, rounds: Vec::new(), misses: 0.0, waited: Vec::new() })
    }

    fn take(&mut self, time: Duration) -> Result<()> {
        self.workers.iter_mut().try_for_each(|worker| worker.begin(time))?;
        let mut all = 0.0;
        for worker in &mut self.workers {
            let done = worker.end()?;
            all += done.rate / 1e6;
            self.misses = self.misses.max(done.misses);
            self.waited.push(done.waited);
        }
        self.rounds.push(all);
        Ok(())
    }
}

fn print(crews: &[Crew; 6], shared: &Stats, load: Load) {
    let Load { len, keys } = load;
    let title = format!("Processes that read 95 % and write 5 %: {keys} keys, {len} bytes");
    report::heading(&title, "M/s");
    for crew in crews {
        figures(crew.name, &crew.rounds);
        if crew.misses > 0.0 {
            println!("    of a round up to {:.2} % found no value", crew.misses * 100.0);
        }
        report::waited("each of them", median(&crew.waited).unwrap_or(0.0));
    }
    if shared.busy + shared.evictions() > 0 {
        let (busy, evicted) = (shared.busy, shared.evictions());
        println!(
            "    on the one region {busy} sets found a lock held too long, and {evicted} entries were evicted"
        );
    }
    let [shared, shared_alone, apart, apart_alone, copies, copies_alone] =
        crews.each_ref().map(|crew| &crew.rounds[..]);
    let asked = Goal::AtLeast(0.85);
    let twice = |two: &[f64], one: &[f64]| ratio(two, one).map(|ratio| ratio / 2.0);
    report::goals();
    goal("as worded: two on one region over two that copy", ratio(shared, copies), "", asked);
    goal("as scaling: two on one region over twice one", twice(shared, shared_alone), "", asked);
    goal("two on one region over two on their own", ratio(shared, apart), "", Goal::None);
    goal("scaling of two on their own", twice(apart, apart_alone), "", Goal::None);
    goal(
        "scaling of the copies: what the machine gives",
        twice(copies, copies_alone),
        "",
        Goal::None,
    );
}
