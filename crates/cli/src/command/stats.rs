//! `larder stats`: the counters of a store.

use clap::Args;

use super::{open_existing, print};
use crate::exit::Exit;

/// Prints the counters of a store; a counter that the store does not tell is left out.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store
    url: String,
    /// As JSON, unknown counters as null
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_existing(&arguments.url)?;
    let stats = serde_json::to_value(store.stats()?)?;
    let text = if arguments.format == "json" {
        format!("{stats:#}\n")
    } else {
        let counters =
            stats.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let lines: Vec<String> =
            counters.map(|(name, value)| format!("{name:16} {value}\n")).collect();
        lines.concat()
    };
    print(text.as_bytes())?;
    Ok(Exit::Done)
}
