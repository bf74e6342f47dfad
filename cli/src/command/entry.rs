//! `larder get`, `set` and `delete`: one entry of one store.

use std::io::Read;

use anyhow::bail;
use clap::Args;
use larder_store::{Durability, SetOptions, SetOutcome, Span, Store, StoreUrl};

use super::{open, open_existing, print};
use crate::catalog::CATALOG;
use crate::exit::{Exit, Usage};

/// Prints the value under a key, as it is. Exits with 1 where the key is absent.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The store, for example `memcached://localhost:11211` or `file:/var/tmp/cache`
    url: String,
    /// The key
    key: String,
}

/// Stores a value under a key.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The store
    url: String,
    /// The key
    key: String,
    /// The value; without it, standard input is stored
    value: Option<String>,
    /// The value's time to live
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    ttl: Option<Span>,
}

/// Removes a key. Exits with 1 where the key is absent.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The store
    url: String,
    /// The key
    key: String,
}

pub(crate) fn get(arguments: &Get) -> anyhow::Result<Exit> {
    has_place(&StoreUrl::parse(&arguments.url)?)?;
    let store = open_existing(&arguments.url)?;
    let mut value = Vec::new();
    if store.session()?.get(arguments.key.as_bytes(), &mut value)?.is_none() {
        anstream::eprintln!("larder: no key `{}` in {}", arguments.key, store.info().url);
        return Ok(Exit::Failed);
    }
    print(&value)?;
    Ok(Exit::Done)
}

pub(crate) fn set(arguments: &Set) -> anyhow::Result<Exit> {
    if arguments.ttl.is_some_and(|Span(ttl)| ttl.is_zero()) {
        bail!(Usage("--ttl 0s: give it a time, or leave it out to keep the value".into()));
    }
    let url = StoreUrl::parse(&arguments.url)?;
    has_place(&url)?;
    let store = open(&arguments.url)?;
    lasts(&url, store.as_ref())?;
    let mut value = Vec::new();
    if let Some(typed) = &arguments.value {
        value.extend_from_slice(typed.as_bytes());
    } else {
        std::io::stdin().lock().read_to_end(&mut value)?;
    }
    let options = SetOptions { ttl: arguments.ttl.map(|Span(ttl)| ttl), ..SetOptions::default() };
    match store.session()?.set(arguments.key.as_bytes(), &value, &options)? {
        SetOutcome::Stored(_) => Ok(Exit::Done),
        refused => bail!("{}: {refused:?}", store.info().url),
    }
}

pub(crate) fn delete(arguments: &Delete) -> anyhow::Result<Exit> {
    has_place(&StoreUrl::parse(&arguments.url)?)?;
    let store = open_existing(&arguments.url)?;
    if store.session()?.delete(arguments.key.as_bytes())? {
        return Ok(Exit::Done);
    }
    anstream::eprintln!("larder: no key `{}` in {}", arguments.key, store.info().url);
    Ok(Exit::Failed)
}

/// Refuses a store that exists only for this command, before its server is started: no entry is there, and no entry
/// stays.
fn has_place(url: &StoreUrl) -> anyhow::Result<()> {
    let keeper = keeper(url);
    CATALOG.find(keeper.scheme())?;
    if keeper.hosts().is_empty() && keeper.path().is_empty() && !CATALOG.is_external(keeper) {
        bail!(ends_with_the_command(&url.to_string()));
    }
    Ok(())
}

/// Refuses to store a value that is lost with this command: the URL is a mistake.
fn lasts(url: &StoreUrl, store: &dyn Store) -> Result<(), Usage> {
    let info = store.info();
    let is_kept = info.durability > Durability::Volatile && store.capabilities().persistent;
    if is_kept || CATALOG.is_external(keeper(url)) {
        return Ok(());
    }
    Err(ends_with_the_command(&info.url))
}

/// The store that keeps the entries: of a stack the lowest tier, which has every entry.
fn keeper(url: &StoreUrl) -> &StoreUrl {
    url.tiers().last().unwrap_or(url)
}

fn ends_with_the_command(url: &str) -> Usage {
    Usage(format!("{url} ends with this command; name a path or a server"))
}
