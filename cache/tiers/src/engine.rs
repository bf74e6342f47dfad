//! `tiered:` as the catalog lists it: a stack that is opened by its URL.

use std::sync::Arc;

use larder_store::{Catalog, Channel, ChannelKind, Engine, Error, Medium, Result, Store, StoreUrl};

use crate::SCHEME;
use crate::config::{self, Config};
use crate::tiers::Tiers;

/// The engine as the catalog lists it.
pub const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "A stack of other stores, the nearest first: look-aside reads, write-through",
    example: "tiered:moka:?size=64m|memcached:|?l1_ttl=10s",
    medium: Medium::Tiers,
    capacity_option: Some("room"),
    connections_option: None,
    recipes: &[],
    options: config::schema,
    open,
};

/// The failures in a row after which a tier behind a network is left alone.
const BREAKER: &str = "5";

fn open(url: &StoreUrl, catalog: &Catalog) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(Tiers::open(url, catalog)?))
}

impl Tiers {
    /// Opens a stack by its URL, and each of its tiers with this catalog.
    ///
    /// It is for the process that opens it. A forked child opens the stack again; [`Catalog::open`] gives a store that
    /// refuses all calls there.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`] for a URL that is no stack, or names fewer than two tiers. Else as [`Tiers::new`], and what the
    /// engine of a tier refuses.
    pub fn open(url: &StoreUrl, catalog: &Catalog) -> Result<Self> {
        if !ENGINE.means(url.scheme()) {
            let reason = "a stack is needed here; write `tiered:moka:|memcached:`";
            return Err(Error::InvalidUrl { url: url.to_string(), reason: reason.into() });
        }
        let config = Config::from_url(url)?;
        let stores = open_tiers(url, &config, catalog)?;
        let channel = channel(&stores, &config, catalog)?;
        Self::labelled(stores, &config, url.to_string(), channel)
    }
}

/// The open tiers of a URL, each with its label.
fn open_tiers(
    url: &StoreUrl,
    config: &Config,
    catalog: &Catalog,
) -> Result<Vec<(String, Arc<dyn Store>)>> {
    let urls = url.tiers();
    if urls.len() < 2 {
        let reason = "a stack has at least two tiers; write `tiered:moka:|memcached:`";
        return Err(Error::InvalidUrl { url: url.to_string(), reason: reason.into() });
    }
    let natives = |tier: &&StoreUrl| catalog.natives().any(|engine| engine.means(tier.scheme()));
    if let Some(guest) =
        urls.iter().find(|tier| catalog.find(tier.scheme()).is_ok() && !natives(tier))
    {
        let (language, _) = guest.scheme().split_once('+').unwrap_or((guest.scheme(), ""));
        let reason = format!(
            "`{}:` lives in another language and would be reached over a pipe; write `{language}+tiered:` for a \
             stack in that language",
            guest.scheme()
        );
        return Err(Error::InvalidUrl { url: url.to_string(), reason });
    }
    let mut stores = Vec::with_capacity(urls.len());
    for tier in urls {
        let store = catalog.open(&with_breaker(with_room(tier, config, catalog)?, catalog)?)?;
        let label = tier.name().map_or_else(|| format!("{}:", tier.scheme()), str::to_owned);
        stores.push((label, store));
    }
    Ok(stores)
}

/// The URL of a tier with the stack's room for it, where the tier has such a limit and is not external.
fn with_room(tier: &StoreUrl, config: &Config, catalog: &Catalog) -> Result<StoreUrl> {
    let option =
        catalog.find(tier.scheme())?.capacity_option.filter(|_| !catalog.is_external(tier));
    Ok(match (option, config.room) {
        (Some(option), Some(room)) => tier.clone().or_option(option, &room.0.to_string()),
        _ => tier.clone(),
    })
}

/// The URL of a tier with a breaker, unless it says otherwise, where the tier may wait for servers.
fn with_breaker(tier: StoreUrl, catalog: &Catalog) -> Result<StoreUrl> {
    let has_servers = catalog.find(tier.scheme())?.has_servers();
    Ok(if has_servers { tier.or_option("breaker", BREAKER) } else { tier })
}

/// The channel that the options name.
fn channel(
    stores: &[(String, Arc<dyn Store>)],
    config: &Config,
    catalog: &Catalog,
) -> Result<Option<Arc<dyn Channel>>> {
    let Some(text) = &config.channel else { return Ok(None) };
    let refuse = |reason: String| Error::InvalidOptions { engine: SCHEME, reason };
    let (name, store, kind) = if let ("tracking", Some((name, lowest))) =
        (text.as_str(), stores.last())
    {
        (name.clone(), Arc::clone(lowest), ChannelKind::OwnWrites)
    } else {
        let url = StoreUrl::parse(text)?;
        let engine = catalog.find(url.scheme())?;
        if engine.has_servers() && !catalog.is_external(&url) {
            return Err(refuse(format!(
                "option `channel`: `{url}` names no server, and other hosts could not reach one that is started here; \
                 write {}://h1",
                url.scheme()
            )));
        }
        (url.to_string(), catalog.open(&url)?, ChannelKind::Named(&config.channel_name))
    };
    match store.channel(kind) {
        Ok(channel) => Ok(Some(channel)),
        Err(Error::Unsupported { .. }) => Err(refuse(format!(
            "option `channel`: {name} has no channel; write redis://h1, or leave it out: then l1_ttl bounds how old a \
             value above is"
        ))),
        Err(error) => Err(error),
    }
}
