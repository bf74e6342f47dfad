//! The engines with faults of single operations, which only the contract judges.

use larder_store::Engine;

use super::engine;
use super::faults::Fault;
use super::map::{MapOptions, MapStore, schema};

pub(super) const MISTELLS: Engine = engine(
    "mistells",
    "mistells:",
    "Tells the version before that of a write",
    schema,
    |url, _| {
        let MapOptions {} = url.options("mistells")?;
        Ok(MapStore::open("mistells", url, Fault::Mistells))
    },
);

pub(super) const RUSHES: Engine =
    engine("rushes", "rushes:", "Adds to an initial number", schema, |url, _| {
        let MapOptions {} = url.options("rushes")?;
        Ok(MapStore::open("rushes", url, Fault::Rushes))
    });

pub(super) const FORGIVES: Engine =
    engine("forgives", "forgives:", "Deletes whatever the version", schema, |url, _| {
        let MapOptions {} = url.options("forgives")?;
        Ok(MapStore::open("forgives", url, Fault::Forgives))
    });

pub(super) const SCRAMBLES: Engine =
    engine("scrambles", "scrambles:", "Tells outcomes of a batch backwards", schema, |url, _| {
        let MapOptions {} = url.options("scrambles")?;
        Ok(MapStore::open("scrambles", url, Fault::Scrambles))
    });

pub(super) const LAGS: Engine =
    engine("lags", "lags:", "Reads without the new TTL", schema, |url, _| {
        let MapOptions {} = url.options("lags")?;
        Ok(MapStore::open("lags", url, Fault::Lags))
    });

pub(super) const CROWDS: Engine =
    engine("crowds", "crowds:", "Tells everyone to load", schema, |url, _| {
        let MapOptions {} = url.options("crowds")?;
        Ok(MapStore::open("crowds", url, Fault::Crowds))
    });

pub(super) const REVIVES: Engine =
    engine("revives", "revives:", "Fills whatever the token", schema, |url, _| {
        let MapOptions {} = url.options("revives")?;
        Ok(MapStore::open("revives", url, Fault::Revives))
    });

pub(super) const FRESHENS: Engine =
    engine("freshens", "freshens:", "Expires nothing", schema, |url, _| {
        let MapOptions {} = url.options("freshens")?;
        Ok(MapStore::open("freshens", url, Fault::Freshens))
    });

pub(super) const HOARDS: Engine =
    engine("hoards", "hoards:", "Keeps leases too long", schema, |url, _| {
        let MapOptions {} = url.options("hoards")?;
        Ok(MapStore::open("hoards", url, Fault::Hoards))
    });
