//! The open stack: its tiers, opened with the catalog that it was given, and what they are together.

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_store::{
    Capabilities, Catalog, Error, Ownership, Result, Session, Stats, Store, StoreInfo, StoreUrl,
    TierStats,
};

use super::SCHEME;
use super::capabilities::{check, combined};
use super::config::{Cap, TieredConfig};
use super::session::TieredSession;
use super::tier::Tier;

pub(super) fn open(url: &StoreUrl, catalog: &Catalog) -> Result<Arc<dyn Store>> {
    let config = TieredConfig::from_url(url)?;
    let urls = url.tiers();
    if urls.len() < 2 {
        let reason = "a stack has at least two tiers; write `tiered:moka:|memcached:`";
        return Err(Error::InvalidUrl { url: url.to_string(), reason: reason.into() });
    }
    let mut tiers = Vec::with_capacity(urls.len());
    for (i, tier) in urls.iter().enumerate() {
        let store = catalog.open(&with_room(tier, config, catalog)?)?;
        let label = tier.name().map_or_else(|| format!("{}:", tier.scheme()), str::to_owned);
        let is_lowest = i + 1 == urls.len();
        let cap = config.l1_ttl.0.filter(|_| !is_lowest);
        tiers.push(Arc::new(Tier::new(format!("L{} {label}", i + 1), store, cap)));
    }
    let named: Vec<(&str, Capabilities)> =
        tiers.iter().map(|tier| (&*tier.name, tier.capabilities)).collect();
    check(&named, config.l1_ttl.0)?;
    let each: Vec<Capabilities> = tiers.iter().map(|tier| tier.capabilities).collect();
    let capabilities = combined(&each, config.l1_ttl.0);
    Ok(Arc::new(TieredStore { url: url.to_string(), l1_ttl: config.l1_ttl, capabilities, tiers }))
}

/// The URL of a tier with the stack's room for it, where the tier has such a limit and is not somebody's.
fn with_room(tier: &StoreUrl, config: TieredConfig, catalog: &Catalog) -> Result<StoreUrl> {
    let option =
        catalog.find(tier.scheme())?.capacity_option.filter(|_| !catalog.is_external(tier));
    Ok(match (option, config.room) {
        (Some(option), Some(room)) => tier.clone().or_option(option, &room.0.to_string()),
        _ => tier.clone(),
    })
}

/// An open stack.
#[derive(Debug)]
struct TieredStore {
    url: String,
    l1_ttl: Cap,
    capabilities: Capabilities,
    /// The nearest first.
    tiers: Vec<Arc<Tier>>,
}

impl Store for TieredStore {
    fn info(&self) -> StoreInfo {
        let infos: Vec<StoreInfo> = self.tiers.iter().map(|tier| tier.store.info()).collect();
        let mut settings = BTreeMap::from([("l1_ttl".to_owned(), self.l1_ttl.to_string())]);
        for (info, level) in infos.iter().zip(1..) {
            let own = info.settings.iter();
            settings.extend(own.map(|(name, text)| (format!("l{level}.{name}"), text.clone())));
        }
        let version = |info: &StoreInfo| match &info.version {
            Some(version) => format!("{} {version}", info.scheme),
            None => info.scheme.to_owned(),
        };
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(infos.iter().map(version).collect::<Vec<_>>().join(" | ")),
            settings,
            durability: infos.last().map(|info| info.durability).unwrap_or_default(),
            ownership: most_foreign(&infos),
            server_pids: infos.iter().flat_map(|info| info.server_pids.clone()).collect(),
            data_paths: infos.iter().flat_map(|info| info.data_paths.clone()).collect(),
            addresses: infos.iter().flat_map(|info| info.addresses.clone()).collect(),
            file_system: infos.into_iter().rev().find_map(|info| info.file_system),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(TieredSession::open(&self.tiers, self.capabilities)?))
    }

    /// Reads are counted here: a hit of any tier is one, a miss is one of the lowest. The rest is the lowest tier's, which
    /// has everything, but for the connections of all.
    fn stats(&self) -> Result<Stats> {
        let Some((lowest, above)) = self.tiers.split_last() else { return Ok(Stats::default()) };
        let mut stats = lowest.store.stats()?;
        let told = self.tiers();
        stats.hits = Some(told.iter().map(|tier| tier.hits).sum());
        stats.misses = told.last().map(|tier| tier.misses);
        for tier in above {
            // A tier above that does not answer makes only its own connections unknown.
            if let Some(more) = tier.store.stats().ok().and_then(|stats| stats.connections) {
                stats.connections = Some(stats.connections.unwrap_or(0) + more);
            }
        }
        Ok(stats)
    }

    fn tiers(&self) -> Vec<TierStats> {
        let told = |tier: &Arc<Tier>| {
            let [hits, misses, fills, refused] = tier.counters.totals();
            TierStats {
                name: tier.name.clone(),
                hits,
                misses,
                fills,
                refused,
                ..TierStats::default()
            }
        };
        self.tiers.iter().map(told).collect()
    }
}

/// Somebody's where any tier is, a server of ours where any is that.
fn most_foreign(infos: &[StoreInfo]) -> Ownership {
    let any = |ownership| infos.iter().any(|info| info.ownership == ownership);
    [Ownership::External, Ownership::Managed]
        .into_iter()
        .find(|ownership| any(*ownership))
        .unwrap_or_default()
}
