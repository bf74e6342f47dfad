//! `larder stats`: the counters of a store.

use clap::Args;
use larder_store::Counter;
use serde_json::{Map, Value};

use super::{open_existing, print};
use crate::exit::Exit;

/// Prints the counters of a store; a counter that the store does not tell is left out.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store
    url: String,
    /// As text or as JSON; in JSON, unknown counters are null, and counters of this kind of store alone are under `own`
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_existing(&arguments.url)?;
    let (stats, own) = (serde_json::to_value(store.stats()?)?, store.counters()?);
    let text = if arguments.format == "json" { json(stats, &own) } else { lines(&stats, &own) };
    print(text.as_bytes())?;
    Ok(Exit::Done)
}

fn json(mut stats: Value, own: &[Counter]) -> String {
    let own: Map<String, Value> =
        own.iter().map(|counter| (counter.name.to_owned(), counter.value.into())).collect();
    stats["own"] = own.into();
    format!("{stats:#}\n")
}

/// A line for each known counter; those of this kind of store follow the common ones.
fn lines(stats: &Value, own: &[Counter]) -> String {
    let known = stats.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let common = known.map(|(name, value)| format!("{name:16} {value}\n"));
    let own = own.iter().map(|Counter { name, value }| format!("{name:16} {value}\n"));
    common.chain(own).collect()
}
