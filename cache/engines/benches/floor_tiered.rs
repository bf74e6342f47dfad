//! The cost of a stack on top of the tier that answers: the same hits of `moka:` through a stack and without a stack; with
//! `tags=on`, of entries without a tag and with one. All run in alternating slices of one process.
//!
//! Run with `cargo bench -p larder-engines --bench floor_tiered`.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use larder_engines::ENGINES;
use larder_store::{Result, Session, SetOptions, Store, StoreUrl};
use larder_tiers::{Cap, Config, Tiers};

const KEYS: u64 = 10_000;
const SLICES: usize = 200;

fn main() -> Result<()> {
    // `cargo test --benches` only wants to know that it runs.
    let slices = if std::env::args().any(|argument| argument == "--bench") { SLICES } else { 2 };
    for len in [100, 1024] {
        let stack = "tiered:moka:|moka:|?l1_ttl=off";
        let with_tags = format!("{stack}&tags=on");
        let mut sessions =
            [filled("moka:", len)?, filled(stack, len)?, filled(&with_tags, len)?, tagged(len)?];
        let mut took = [const { Vec::new() }; 4];
        for _ in 0..slices {
            for (session, took) in sessions.iter_mut().zip(&mut took) {
                took.push(ns_a_get(&mut **session)?);
            }
        }
        let [bare, stack, plain, tagged] = took.map(median);
        let [more, more_plain, more_tagged] = [stack - bare, plain - stack, tagged - stack];
        let line = format!(
            "get of {len} B: {bare:.0} ns in moka, {stack:.0} ns in a stack: {more:+.0} ns; with tags=on {more_plain:+.0} ns, \
             and with a tag {more_tagged:+.0} ns\n"
        );
        // A reader that has gone away has read enough.
        let _ = std::io::stdout().write_all(line.as_bytes());
    }
    Ok(())
}

fn filled(url: &str, len: usize) -> Result<Box<dyn Session>> {
    let mut session = ENGINES.open(&StoreUrl::parse(url)?)?.session()?;
    for i in 0..KEYS {
        session.set(&i.to_be_bytes(), &vec![b'v'; len], &SetOptions::default())?;
    }
    Ok(session)
}

/// The same entries in a stack, all with one tag.
fn tagged(len: usize) -> Result<Box<dyn Session>> {
    let config = Config { tags: true, l1_ttl: Cap(None), ..Config::default() };
    let moka = || ENGINES.open(&StoreUrl::parse("moka:")?);
    let stack = Tiers::new(vec![moka()?, moka()?], &config)?;
    let mut session = stack.open_session()?;
    for i in 0..KEYS {
        session.set_tagged(&i.to_be_bytes(), &vec![b'v'; len], &SetOptions::default(), &[b"t"])?;
    }
    stack.session()
}

/// One slice: every key once.
fn ns_a_get(session: &mut dyn Session) -> Result<f64> {
    let mut value = Vec::new();
    let start = Instant::now();
    for i in 0..KEYS {
        assert!(black_box(session.get(&i.to_be_bytes(), &mut value)?).is_some(), "a miss");
    }
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let ns = start.elapsed().as_nanos() as f64 / KEYS as f64;
    Ok(ns)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
