//! Sixteen keys at once against one by one, where the memory is far away: a million values of 100 bytes.

use std::hint::black_box;

use larder_segment::Cache;

use crate::caches::{Own, Through, filled, options, reader};
use crate::contender::{Contender, Turn, of, round};
use crate::keys::{Key, Keys};
use crate::memcpy::Records;
use crate::report::{self, Goal, figures, goal, ratio};
use crate::{Result, Scale, scratch};

const KEYS: usize = 1_000_000;
const LEN: usize = 100;
const SIZE: usize = 256 << 20;
const ROUNDS: usize = 80;

/// Keys that are asked for at once.
const MANY: usize = 16;

const ONE: &str = "memory: by its own API, get";
const ALL: &str = "memory: by its own API, get_many(16)";
const ONE_THROUGH: &str = "mmap: through Session, get";
const ALL_THROUGH: &str = "mmap: through Session, get_many(16)";

pub(crate) fn measure(scale: Scale) -> Result<()> {
    let n = scale.of(KEYS, 1000);
    let folder = scratch()?;
    let file = folder.path().join("cache");
    let cache = Cache::private(&options(SIZE, LEN))?;
    filled(Own(cache.session()), n, LEN)?;
    filled(Through::mmap(&file, SIZE, LEN)?, n, LEN)?;
    let mut own = cache.session();
    let mut through = Through::mmap(&file, SIZE, LEN)?;
    let mut contenders = [
        reader(ONE, Own(cache.session()), LEN),
        batches(ALL, |keys, hit| own.get_many(keys, &mut |_, value, _| hit(value))),
        reader(ONE_THROUGH, Through::mmap(&file, SIZE, LEN)?, LEN),
        batches(ALL_THROUGH, move |keys, hit| {
            let answered = through.session().get_many(keys, &mut |_, value, _| hit(value));
            answered.expect("keys that fit are looked up");
        }),
        reader("floor: a copy of the value", Records::new(n, LEN, false), LEN),
    ];
    let turn = Turn { warm: scale.of(4, 1), timed: scale.of(16, 1) };
    for number in 0..scale.of(ROUNDS, 2) {
        round(&mut contenders, number, Keys::Random(n), turn);
    }
    report::heading("A million values of 100 bytes, far from the processor: each key", "ns");
    for contender in &contenders {
        figures(&contender.name, &contender.rounds);
    }
    report::goals();
    for (all, one) in [(ALL, ONE), (ALL_THROUGH, ONE_THROUGH)] {
        let found = ratio(of(&contenders, all), of(&contenders, one));
        goal(&format!("{all} over get"), found, "", Goal::AtMost(0.3));
    }
    Ok(())
}

/// A reader that takes the keys of a block sixteen by sixteen, and copies each value as the other readers do.
fn batches<'a>(
    name: &str,
    mut get_many: impl FnMut(&[&[u8]], &mut dyn FnMut(&[u8])) + 'a,
) -> Contender<'a> {
    let mut copy = Vec::new();
    Contender::new(name, move |block| {
        for keys in block.keys.chunks_exact(MANY) {
            let keys: [&[u8]; MANY] = std::array::from_fn(|i| &black_box::<&Key>(&keys[i])[..]);
            let mut hits = 0;
            get_many(&keys, &mut |value| {
                copy.clear();
                copy.extend_from_slice(value);
                hits += usize::from(black_box(&copy).len() == LEN);
            });
            assert_eq!(hits, MANY, "all keys are there");
        }
    })
}
