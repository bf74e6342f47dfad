//! The engines with faults of single operations, which only the contract judges.

use larder_store::Engine;

use super::engine;
use super::faults::Fault;
use super::map::{MapOptions, MapStore, schema};

/// An engine without options: its scheme, its summary and its fault.
macro_rules! faulty {
    ($name:ident, $scheme:literal, $summary:literal, $fault:ident) => {
        pub(super) const $name: Engine =
            engine($scheme, concat!($scheme, ":"), $summary, schema, |url, _| {
                let MapOptions {} = url.options($scheme)?;
                Ok(MapStore::open($scheme, url, Fault::$fault))
            });
    };
}

faulty!(MISTELLS, "mistells", "Tells the version before that of a write", Mistells);
faulty!(RUSHES, "rushes", "Adds to an initial number", Rushes);
faulty!(FORGIVES, "forgives", "Deletes whatever the version", Forgives);
faulty!(SCRAMBLES, "scrambles", "Tells outcomes of a batch backwards", Scrambles);
faulty!(LAGS, "lags", "Reads without the new TTL", Lags);
faulty!(CROWDS, "crowds", "Tells everyone to load", Crowds);
faulty!(REVIVES, "revives", "Fills whatever the token", Revives);
faulty!(FRESHENS, "freshens", "Expires nothing", Freshens);
faulty!(DAWDLES, "dawdles", "Gives no lease of an entry before its end", Dawdles);
faulty!(HOARDS, "hoards", "Keeps leases too long", Hoards);
faulty!(BARTERS, "barters", "Exchanges the tokens of a batch", Barters);
faulty!(WAVES, "waves", "Fills a batch whatever the tokens", Waves);
faulty!(OVERTAKES, "overtakes", "Carries out pipelined requests before their turn", Overtakes);
faulty!(MIXES, "mixes", "Exchanges pipelined answers", Mixes);
faulty!(LOSES, "loses", "Loses pipelined answers", Loses);
faulty!(REPEATS, "repeats", "Answers pipelined requests twice", Repeats);
faulty!(HALTS, "halts", "Answers no pipelined request behind a failure", Halts);
