//! The open stack: its tiers and their combined properties.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use larder_store::{
    Capabilities, Channel, Counter, Durability, Error, Ownership, Result, Session, Stats, Store,
    StoreInfo, TierStats,
};

use crate::SCHEME;
use crate::capabilities::{check, combined, share, with_tags};
use crate::config::{Config, WriteOrder};
use crate::invalidation;
use crate::layer::spans;
use crate::loads::Loads;
use crate::patience;
use crate::probes;
use crate::rules::Rules;
use crate::session::TiersSession;
use crate::tier::Tier;
use crate::tokens::Tokens;
use crate::write_behind::WriteBehind;

/// An open stack. It is a [`Store`] like its tiers.
#[derive(Debug)]
pub struct Tiers {
    url: String,
    config: Config,
    capabilities: Capabilities,
    /// The tiers, the nearest first.
    levels: Vec<Arc<Tier>>,
    tokens: Arc<Tokens>,
    loads: Arc<Loads>,
    write_behind: Arc<WriteBehind>,
    channel: Option<Arc<invalidation::Shared>>,
    /// The open namespaces, because all stores of one share its tokens.
    namespaces: Mutex<BTreeMap<String, Weak<Self>>>,
}

impl Tiers {
    /// A stack of these open stores, the nearest first. The lowest has every entry.
    ///
    /// # Errors
    ///
    /// [`InvalidOptions`](larder_store::Error::InvalidOptions) for fewer than two stores, for a store that keeps nothing, and for a stack in which an
    /// entry could outlive its TTL.
    pub fn new(stores: Vec<Arc<dyn Store>>, config: &Config) -> Result<Self> {
        Self::of_open(stores, config, None)
    }

    /// The same with a channel, on which stacks of other hosts hear of the writes of this one.
    ///
    /// # Errors
    ///
    /// As [`Tiers::new`]; also for a stack without a bound, because a channel may break.
    pub fn with_channel(
        stores: Vec<Arc<dyn Store>>,
        config: &Config,
        channel: Arc<dyn Channel>,
    ) -> Result<Self> {
        Self::of_open(stores, config, Some(channel))
    }

    fn of_open(
        stores: Vec<Arc<dyn Store>>,
        config: &Config,
        channel: Option<Arc<dyn Channel>>,
    ) -> Result<Self> {
        if config.channel.is_some() {
            let reason = "option `channel`: a stack of open stores gets its channel by `Tiers::with_channel`";
            return Err(Error::InvalidOptions { engine: SCHEME, reason: reason.into() });
        }
        let infos: Vec<StoreInfo> = stores.iter().map(|store| store.info()).collect();
        let urls: Vec<&str> = infos.iter().map(|info| info.url.as_str()).collect();
        let labels = infos.iter().map(|info| format!("{}:", info.scheme));
        let url = format!("{SCHEME}:{}", urls.join("|"));
        Self::labelled(labels.zip(stores).collect(), config, url, channel)
    }

    /// The same with a name for each tier and the stack's own URL.
    pub(crate) fn labelled(
        mut stores: Vec<(String, Arc<dyn Store>)>,
        config: &Config,
        url: String,
        channel: Option<Arc<dyn Channel>>,
    ) -> Result<Self> {
        config.check()?;
        probes::share(&stores);
        let invalidation =
            channel.map(|channel| invalidation::checked(channel, config)).transpose()?;
        if let (Some(invalidation), Some((_, lowest))) = (&invalidation, stores.last_mut()) {
            *lowest = invalidation::publishing(Arc::clone(lowest), invalidation);
        }
        let level = |(level, (label, store))| {
            (format!("L{level} {label}"), spans::of_tier(store, config.spans, level))
        };
        let stores: Vec<(String, Arc<dyn Store>)> = (1..).zip(stores).map(level).collect();
        let each: Vec<Capabilities> =
            stores.iter().map(|(_, store)| store.capabilities()).collect();
        let names = stores.iter().map(|(name, _)| name.as_str());
        check(&names.zip(each.iter().copied()).collect::<Vec<_>>(), config)?;
        let cap = share(&each, config.l1_ttl.0);
        let mut capabilities = combined(&each, cap);
        if config.tags {
            capabilities = with_tags(capabilities);
        }
        // A queued set could make a namespace anew that has been removed.
        capabilities.namespaces &= config.write != WriteOrder::Behind;
        let n_above = stores.len() - 1;
        let tier = |(i, (name, store))| {
            let cap = cap.filter(|_| i < n_above);
            let (cap, validity) = match &invalidation {
                Some(invalidation) if i < n_above => invalidation.cap(&each[..n_above], i, cap),
                _ => (cap, None),
            };
            Arc::new(Tier::new(name, store, cap, i == 0, config).subscribed(validity))
        };
        let levels: Vec<Arc<Tier>> = stores.into_iter().enumerate().map(tier).collect();
        check_read_timeouts(&levels)?;
        let mut stack = Self::of(url, config.clone(), capabilities, levels);
        if let Some(invalidation) = &invalidation {
            invalidation.start(&stack.levels[..n_above], &stack.tokens)?;
            stack.channel = Some(Arc::clone(invalidation.shared()));
        }
        Ok(stack)
    }

    fn of(url: String, config: Config, capabilities: Capabilities, levels: Vec<Arc<Tier>>) -> Self {
        let tokens = Arc::new(Tokens::new(!capabilities.leases));
        let max_bytes = usize::try_from(config.queue.0).unwrap_or(usize::MAX);
        let write_behind = Arc::new(WriteBehind::new(max_bytes, &levels, &tokens));
        Self {
            url,
            config,
            capabilities,
            levels,
            tokens,
            loads: Arc::default(),
            write_behind,
            channel: None,
            namespaces: Mutex::default(),
        }
    }

    /// A handle for one thread, with all that a stack can do.
    pub fn open_session(&self) -> Result<TiersSession> {
        let rules = Rules::new(&self.config);
        TiersSession::open(
            &self.levels,
            &self.tokens,
            self.capabilities,
            rules,
            &self.loads,
            &self.write_behind,
            spans::of_stack(self.config.spans),
        )
    }
}

impl Store for Tiers {
    fn info(&self) -> StoreInfo {
        let infos: Vec<StoreInfo> = self.levels.iter().map(|tier| tier.store.info()).collect();
        let mut settings = self.config.settings();
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
            durability: match self.config.write {
                WriteOrder::Behind => Durability::Unacknowledged,
                _ => infos.last().map(|info| info.durability).unwrap_or_default(),
            },
            ownership: most_foreign(&infos),
            server_pids: once_each(&infos),
            data_paths: infos.iter().flat_map(|info| info.data_paths.clone()).collect(),
            addresses: infos.iter().flat_map(|info| info.addresses.clone()).collect(),
            file_system: infos.into_iter().rev().find_map(|info| info.file_system),
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.open_session()?))
    }

    fn namespace(&self, name: &str) -> Result<Arc<dyn Store>> {
        if !self.capabilities.namespaces {
            return Err(Error::Unsupported { engine: SCHEME, operation: "namespace" });
        }
        let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = namespaces.get(name).and_then(Weak::upgrade) {
            return Ok(open);
        }
        let levels: Result<Vec<Arc<Tier>>> = self
            .levels
            .iter()
            .map(|tier| tier.in_namespace(name, &self.config).map(Arc::new))
            .collect();
        let capabilities = Capabilities { namespaces: false, ..self.capabilities };
        let config = self.config.clone();
        let opened = Arc::new(Self::of(self.url.clone(), config, capabilities, levels?));
        namespaces.retain(|_, open| open.strong_count() > 0);
        namespaces.insert(name.to_owned(), Arc::downgrade(&opened));
        Ok(opened)
    }

    /// The lowest tier first, because the tiers above would be filled from it again.
    fn remove_namespace(&self, name: &str) -> Result<bool> {
        if !self.capabilities.namespaces {
            return Err(Error::Unsupported { engine: SCHEME, operation: "remove_namespace" });
        }
        let removed: Vec<Result<bool>> =
            self.levels.iter().rev().map(|tier| tier.store.remove_namespace(name)).collect();
        removed.into_iter().try_fold(false, |any, removed| Ok(any | removed?))
    }

    fn close(&self) -> Result<()> {
        let namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        let open: Vec<Arc<Self>> = namespaces.values().filter_map(Weak::upgrade).collect();
        drop(namespaces);
        let of_namespaces = open.iter().map(|namespace| namespace.write_behind.settle_all());
        let settled = of_namespaces.fold(self.write_behind.settle_all(), Result::and);
        // The lowest first, because it has every entry.
        let closed: Vec<Result<()>> =
            self.levels.iter().rev().map(|tier| tier.store.close()).collect();
        closed.into_iter().fold(settled, Result::and)
    }

    /// The stack counts its reads: a hit is a hit of any tier, a miss is a miss of the lowest. Connections and requests
    /// are those of all tiers. The other figures are the lowest tier's, which has every entry once it has the queued sets.
    fn stats(&self) -> Result<Stats> {
        if self.config.write == WriteOrder::Behind {
            self.write_behind.settle_all()?;
        }
        let Some((lowest, above)) = self.levels.split_last() else { return Ok(Stats::default()) };
        let mut stats = lowest.store.stats()?;
        if self.config.write == WriteOrder::Behind {
            // Several queued sets of a key are one below.
            stats.sets = None;
        }
        let tiers = self.tiers();
        stats.hits = Some(tiers.iter().map(|tier| tier.hits).sum());
        stats.misses = tiers.last().map(|tier| tier.misses);
        if self.levels.iter().any(|tier| tier.has_servers()) {
            // A tier that does not report its count makes the sum unknown.
            let above: Vec<Stats> =
                above.iter().map(|tier| tier.store.stats().unwrap_or_default()).collect();
            let sum = |of: fn(&Stats) -> Option<u64>| -> Option<u64> {
                let reported = above.iter().chain([&stats]).map(of);
                self.levels.iter().zip(reported).map(|(tier, count)| tier.on_the_wire(count)).sum()
            };
            (stats.connections, stats.requests_sent) =
                (sum(|stats| stats.connections), sum(|stats| stats.requests_sent));
        }
        Ok(stats)
    }

    /// The counters of the stack and of its tiers: a counter that several have is their sum. A tier that fails is left out.
    fn counters(&self) -> Result<Vec<Counter>> {
        let mut counters = self.loads.counters();
        counters.extend(self.write_behind.counters());
        counters.extend(self.channel.iter().flat_map(|channel| channel.counts.all()));
        for reported in
            self.levels.iter().flat_map(|tier| tier.store.counters().unwrap_or_default())
        {
            match counters.iter_mut().find(|counter| counter.name == reported.name) {
                Some(counter) => counter.value += reported.value,
                None => counters.push(reported),
            }
        }
        Ok(counters)
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        let of_tiers: Result<Vec<_>> =
            self.levels.iter().map(|tier| tier.store.external_stats()).collect();
        Ok(of_tiers?.into_iter().flatten().collect())
    }

    fn tiers(&self) -> Vec<TierStats> {
        let stats = |tier: &Arc<Tier>| {
            let [hits, misses, errors, not_asked, fills, puts, refused] = tier.counters.totals();
            let name = tier.name.clone();
            TierStats { name, hits, misses, dropped: 0, errors, not_asked, fills, puts, refused }
        };
        self.levels.iter().map(stats).collect()
    }
}

/// The servers of all tiers, each once: two tiers may share a server, whose CPU time counts only once.
fn once_each(infos: &[StoreInfo]) -> Vec<u32> {
    let mut pids: Vec<u32> = infos.iter().flat_map(|info| info.server_pids.clone()).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Refuses a stack with a tier whose reads cannot be bounded.
///
/// A tier that opens no session now may do so later, so its failure is no reason to refuse the stack.
fn check_read_timeouts(tiers: &[Arc<Tier>]) -> Result<()> {
    for tier in tiers {
        if tier.soft_timeout.is_some()
            && let Ok(mut session) = tier.store.session()
        {
            patience::bound_reads(&mut *session, &tier.name, tier.soft_timeout)?;
        }
    }
    Ok(())
}

/// External where any tier is external, else managed where any tier is managed.
fn most_foreign(infos: &[StoreInfo]) -> Ownership {
    let any = |ownership| infos.iter().any(|info| info.ownership == ownership);
    [Ownership::External, Ownership::Managed]
        .into_iter()
        .find(|ownership| any(*ownership))
        .unwrap_or_default()
}
