//! The subcommands, one file each.

pub(crate) mod advise;
mod atomic_file;
pub(crate) mod backup;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod engines;
pub(crate) mod entry;
pub(crate) mod gate;
pub(crate) mod generate;
pub(crate) mod inspect;
mod page;
pub(crate) mod record;
pub(crate) mod report;
mod results_folder;
pub(crate) mod scenarios;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod top;
pub(crate) mod trace;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use larder_report::Format;
use larder_store::{Medium, Result, Store, StoreUrl};

use crate::catalog::CATALOG;
use crate::exit::Usage;

/// Opens the store behind a URL as a person types it.
fn open(url: &str) -> Result<Arc<dyn Store>> {
    CATALOG.open(&StoreUrl::parse(url)?)
}

/// Opens an existing store: a command that only looks must not create a store.
fn open_existing(text: &str) -> anyhow::Result<Arc<dyn Store>> {
    let url = StoreUrl::parse(text)?;
    for part in [std::slice::from_ref(&url), url.tiers()].concat() {
        let engine = CATALOG.find(part.scheme())?;
        // The path of a server's URL is the name of a database, or a socket.
        let keeps_files = engine.medium == Medium::Files && !engine.has_servers();
        if keeps_files && !part.path().is_empty() && !Path::new(part.path()).exists() {
            anyhow::bail!("{url}: there is nothing at {}", part.path());
        }
    }
    Ok(CATALOG.open(&url)?)
}

/// Refuses a format that a kind of report does not have; `has` is the beginning of the sentence with those that it has.
fn refuse_other_formats(
    format: Format,
    known: impl Iterator<Item = Format>,
    has: &str,
) -> anyhow::Result<()> {
    let known: Vec<Format> = known.collect();
    if known.contains(&format) {
        return Ok(());
    }
    let known: Vec<&str> = known.into_iter().map(Format::as_str).collect();
    Err(Usage(format!("--format {format}: {has} {}", known.join(", "))).into())
}

/// Writes to standard output. A reader that closes early (`| head`) is not an error.
fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("writing to standard output")
        }
        _ => Ok(()),
    }
}

/// The command line with every password masked, in targets and in URLs of options.
fn masked_argv() -> Vec<String> {
    std::env::args_os().map(|argument| StoreUrl::mask(&argument.to_string_lossy())).collect()
}
