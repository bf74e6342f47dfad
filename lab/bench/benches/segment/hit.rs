//! A hit of 100 bytes, hot: 10,000 keys in random order.

use larder_segment::Cache;

use crate::caches::{Own, Through, filled, options, reader};
use crate::contender::{Contender, Turn, of, round};
use crate::guests::Guests;
use crate::keys::{KEY_LEN, Keys};
use crate::memcpy::Records;
use crate::peers::{Lmdb, Moka, Quick};
use crate::report::{self, Goal, figures, goal, ratio};
use crate::{Result, Scale, scratch};

const KEYS: usize = 10_000;
const LEN: usize = 100;
const SIZE: usize = 64 << 20;

/// The number of times that the guests are measured, and the number of rounds of the other contenders
/// each time.
const GUEST_ROUNDS: usize = 5;
const ROUNDS: usize = 40;

const OURS: &str = "mmap: through Session";
/// The figure that the caches of a process are compared with.
const IN_PROCESS: &str = "memory: through Session";
const LMDB: &str = "LMDB (heed)";
const MOKA: &str = "moka";
const QUICK: &str = "quick_cache";

pub(crate) fn measure(scale: Scale) -> Result<()> {
    let folder = scratch()?;
    let file = folder.path().join("cache");
    let through = Through::mmap(&file, SIZE, LEN)?;
    // The very same region, so that only the trait differs.
    let own = Cache::open(&file, &options(SIZE, LEN))?.session();
    let lmdb =
        |name: &str, keeps| filled(Lmdb::create(&folder.path().join(name), keeps)?, KEYS, LEN);
    let mut contenders = [
        reader(OURS, filled(through, KEYS, LEN)?, LEN),
        reader("the same by its own API", Own(own), LEN),
        reader(IN_PROCESS, filled(Through::memory(SIZE, LEN)?, KEYS, LEN)?, LEN),
        reader(LMDB, lmdb("lmdb", false)?, LEN),
        reader("LMDB (heed), one transaction kept open", lmdb("kept", true)?, LEN),
        reader(MOKA, filled(Moka::new(SIZE), KEYS, LEN)?, LEN),
        reader(QUICK, filled(Quick::new(SIZE, KEY_LEN + LEN), KEYS, LEN)?, LEN),
        reader("floor: a copy of the value", Records::new(KEYS, LEN, false), LEN),
        reader("floor: a hash of the key, then the copy", Records::new(KEYS, LEN, true), LEN),
    ];
    // After this number of blocks, nine keys of ten have been asked for: hot keys are near the
    // processor.
    let turn = Turn { warm: scale.of(50, 1), timed: scale.of(20, 1) };
    let mut guests = Guests::of(KEYS, LEN, scale)?;
    for of_guests in 0..scale.of(GUEST_ROUNDS, 1) {
        let each = scale.of(ROUNDS, 2);
        for n in 0..each {
            round(&mut contenders, of_guests * each + n, Keys::Random(KEYS), turn);
        }
        guests.round()?;
    }
    print(&contenders, &guests);
    Ok(())
}

fn print(contenders: &[Contender<'_>], guests: &Guests) {
    report::heading("Hit of 100 bytes, hot: 10,000 keys of 20 bytes in random order", "ns");
    for contender in contenders {
        figures(&contender.name, &contender.rounds);
    }
    guests.print();
    let ours = of(contenders, OURS);
    let in_process = of(contenders, IN_PROCESS);
    let over = |peer: &[f64]| ratio(ours, peer);
    report::goals();
    goal(OURS, larder_analysis::statistics::median(ours), " ns", Goal::AtMost(80.0));
    goal("over LMDB", over(of(contenders, LMDB)), "", Goal::AtMost(0.5));
    let fast_mmap = over(guests.of_url("perl+fastmmap:"));
    goal("over Cache::FastMmap without its floor", fast_mmap, "", Goal::AtMost(0.15));
    goal("over APCu without its floor", over(guests.of_url("php+apcu:")), "", Goal::AtMost(0.5));
    goal(IN_PROCESS, larder_analysis::statistics::median(in_process), " ns", Goal::AtMost(80.0));
    for (name, peer, most) in [("over moka", MOKA, 1.0), ("over quick_cache", QUICK, 1.5)] {
        goal(name, ratio(in_process, of(contenders, peer)), "", Goal::AtMost(most));
    }
}
