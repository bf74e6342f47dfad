//! Sets of keys that are there, and of new keys into a full cache.

use larder_segment::Cache;

use crate::caches::{Own, Sets, Through, options, writer};
use crate::contender::{Contender, Turn, of, round};
use crate::keys::{KEY_LEN, Keys, key};
use crate::memcpy::Ring;
use crate::peers::{Lmdb, Moka, Quick};
use crate::report::{self, Goal, difference, figures, goal, ratio};
use crate::{Result, Scale, scratch};

const LENS: [usize; 3] = [100, 1 << 10, 4 << 10];
const SIZE: usize = 64 << 20;
const ROUNDS: usize = 40;

/// Keys that are stored again and again.
const HOT: usize = 1000;

const OURS: &str = "mmap: through Session";
const OWN: &str = "memory: by its own API";
const RING: &str = "floor: a copy into 64 MiB, one behind the other";
const HOT_COPY: &str = "floor: a copy to where the last one was";

pub(crate) fn measure(scale: Scale) -> Result<()> {
    for len in LENS {
        for is_new in [false, true] {
            measure_one(len, is_new, scale)?;
        }
    }
    Ok(())
}

fn measure_one(len: usize, is_new: bool, scale: Scale) -> Result<()> {
    let folder = scratch()?;
    let each = KEY_LEN + len;
    let size = scale.of(SIZE, 2 << 20);
    // So much is stored before that all memory has been written, and that each new key evicts another.
    let before = size / each * 3 / 2;
    let keys = if is_new { before } else { HOT };
    let fill = Fill { before, keys, len };
    let through = Through::mmap(&folder.path().join("cache"), size, len)?;
    let own = Own(Cache::private(&options(size, len))?.session());
    let mut contenders = vec![
        fill.writer(OURS, through),
        fill.writer(OWN, own),
        fill.writer("moka", Moka::new(size)),
        fill.writer("quick_cache", Quick::new(size, each)),
        fill.writer(RING, Ring::new(size)),
        fill.writer(HOT_COPY, Ring::new(each)),
    ];
    if !is_new {
        let lmdb = Lmdb::create(&folder.path().join("lmdb"), false)?;
        let fill = Fill { before: HOT, ..fill };
        contenders.push(fill.writer("LMDB (heed), a transaction each", lmdb));
    }
    let drawn = if is_new { Keys::Fresh(before) } else { Keys::Random(HOT) };
    let turn = Turn { warm: scale.of(2, 1), timed: scale.of(8, 1) };
    for n in 0..scale.of(ROUNDS, 2) {
        round(&mut contenders, n, drawn, turn);
    }
    print(&contenders, len, is_new);
    Ok(())
}

/// The entries that are stored before anything is measured.
#[derive(Debug, Clone, Copy)]
struct Fill {
    before: usize,
    /// The entries have this many keys, again and again.
    keys: usize,
    len: usize,
}

impl Fill {
    fn writer<'a>(self, name: &str, mut cache: impl Sets + 'a) -> Contender<'a> {
        let value = vec![b'v'; self.len];
        for number in 0..self.before {
            cache.set(&key(number % self.keys), &value);
        }
        cache.settle();
        writer(name, cache, self.len)
    }
}

fn print(contenders: &[Contender<'_>], len: usize, is_new: bool) {
    let what = if is_new {
        "of a new key, the cache being full (64 MiB)"
    } else {
        "of one of 1,000 keys that are there (in 64 MiB)"
    };
    report::heading(&format!("Set of {len} bytes {what}"), "ns");
    for contender in contenders {
        figures(&contender.name, &contender.rounds);
    }
    if is_new {
        report::missing("LMDB (heed)", "it drops nothing to make room");
    }
    report::goals();
    let ours = of(contenders, OURS);
    for (floor, copy) in [(RING, "the copy into 64 MiB"), (HOT_COPY, "the copy to one place")] {
        let more = difference(ours, of(contenders, floor));
        goal(&format!("{OURS}, more than {copy}"), more, " ns", Goal::AtMost(200.0));
    }
    for peer in ["moka", "quick_cache"] {
        goal(&format!("over {peer}"), ratio(ours, of(contenders, peer)), "", Goal::None);
    }
}
