//! An open target: described, probed, and emptied without harm to other users of its server.

mod bounded;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_report::{Operation, Point, ReasonKind, TtlTrial};
use larder_store::{
    ByteSize, Capabilities, Catalog, Error, Ownership, Result, Session, SetOptions, Store,
    StoreInfo, StoreUrl,
};

use crate::guest::{self, Demand, GuestStore};
use crate::memory;
use crate::patience::patiently;
use crate::plan::{Plan, PlannedPhase, PlannedPoint, PlannedTarget};
use crate::probe::{Needed, Probed, confirms, probe};
use crate::scenario::Unbounded;
use crate::usage::{self, Account};
use bounded::{bounded_url, open_within};
pub(crate) use bounded::{is_too_small, too_small};
use larder_workload::KeySpace;

/// A server that fell silent less than this ago is not asked again: by default a client waits as long for an answer.
const MAY_BE_BACK: Duration = Duration::from_secs(5);

/// This many connections every server takes by its own default; memcached takes the fewest, 1024 with files of its own.
const TAKEN_BY_DEFAULT: u32 = 700;
/// Connections beyond those of a plan, for counters and trials, and for files that a server counts among them.
const SPARE_CONNECTIONS: u32 = 256;

/// A target of a running comparison.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) planned: PlannedTarget,
    pub(crate) store: Arc<dyn Store>,
    /// The store, where a program of another language works with it.
    pub(crate) guest: Option<Arc<GuestStore>>,
    pub(crate) info: StoreInfo,
    pub(crate) capabilities: Capabilities,
    pub(crate) probed: Probed,
    /// The trial of its TTLs; `None` where there was no trial.
    pub(crate) ttl: Option<TtlTrial>,
    pub(crate) capacity_bytes: Option<u64>,
    /// The resources that the target uses.
    pub(crate) account: Arc<Account>,
    /// The number of points that are measured on the target.
    n_points: usize,
    /// The points that the target had no room for, each with its error.
    full_at: Vec<(Point, String)>,
    /// Keys that were removed at the end of its last turn: all of them, or an even sample.
    pub(crate) emptied: Vec<Vec<u8>>,
    /// The evictions of external servers.
    pub(crate) evicted: Evicted,
    /// The work of its servers in the turns of other targets.
    pub(crate) beside: Beside,
    /// The reason why the target cannot go on.
    pub(crate) lost: Option<Lost>,
    /// When the target timed out for the second time; `None` where it has answered since.
    silent_since: Cell<Option<Instant>>,
}

/// The evictions of external servers, by their own count.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evicted {
    /// The count since the servers started, as last read; `None` where there are no such servers, or they do not
    /// report it.
    pub(crate) seen: Option<u64>,
    /// The growth of the count since the target was opened.
    pub(crate) grown: u64,
    /// Whether the user allows evictions on these servers.
    pub(crate) is_allowed: bool,
}

/// The work of a target's servers in the turns of other targets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    /// Their CPU time.
    pub(crate) cpu: Duration,
    /// The total length of these turns.
    pub(crate) turns: Duration,
    /// The total length of the target's own turns.
    pub(crate) own_turns: Duration,
}

/// The reason why a target cannot go on.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) reason: String,
}

/// The TTL on external servers: after this time no client reads the entries that a killed run left behind. A cache
/// drops them then; a database keeps its rows until a store is opened there again, or a user deletes them.
const SAFETY_TTL: Duration = Duration::from_hours(24);

impl Target {
    /// Opens a target with room for the plan's working set, unless its URL sets the size, or with the capacity that
    /// was asked for.
    pub(crate) fn open(planned: &PlannedTarget, plan: &Plan, catalog: &Catalog) -> Result<Self> {
        match planned.capacity {
            None => Self::open_at(planned.url.clone(), planned, plan, catalog),
            Some(capacity) => open_within(planned, capacity, |bytes| {
                Self::open_at(bounded_url(planned, bytes, catalog), planned, plan, catalog)
            }),
        }
    }

    fn open_at(
        mut url: StoreUrl,
        planned: &PlannedTarget,
        plan: &Plan,
        catalog: &Catalog,
    ) -> Result<Self> {
        // A stack gives room only to its tiers that are not external.
        let is_ours = || !planned.is_external() || !planned.url.tiers().is_empty();
        if let Some(option) = planned.engine.capacity_option.filter(|_| is_ours()) {
            let points = plan.points.iter().filter(|point| !point.leaves_out(planned));
            let room = points.map(PlannedPoint::room_bytes).max().unwrap_or(0);
            url = url.or_option(option, &room.to_string());
        }
        if let Some(option) = planned.engine.connections_option.filter(|_| is_ours()) {
            let most = plan.points_of(planned).map(PlannedPoint::connections).max().unwrap_or(0);
            if most > TAKEN_BY_DEFAULT {
                url = url.or_option(option, &most.saturating_add(SPARE_CONNECTIONS).to_string());
            }
        }
        // A path only says where the files go; files that lie there already belong to the user. A server in memory may
        // have a store of files behind it.
        url = url.in_scratch();
        let guest = match guest::find(planned.engine.scheme) {
            Some(cache) => {
                Some(Arc::new(GuestStore::open(cache, &url, catalog, demand(plan, planned))?))
            }
            None => None,
        };
        let store = match &guest {
            Some(guest) => Arc::clone(guest) as Arc<dyn Store>,
            None => planned.engine.open_store(&url, catalog)?,
        };
        let mut info = store.info();
        let unknown = usage::complete(&mut info);
        let is_external = info.ownership == Ownership::External;
        let account = Account::new(planned.url.to_string(), info.server_pids.clone(), is_external);
        let account = account.without_servers(unknown).reached_at(&info.addresses);
        let mut target = Self {
            planned: planned.clone(),
            account: Arc::new(if guest.is_some() { account.of_guest() } else { account }),
            info,
            capabilities: store.capabilities(),
            capacity_bytes: store.stats()?.capacity_bytes,
            probed: Probed::default(),
            ttl: None,
            store,
            guest,
            n_points: plan.points_of(planned).count(),
            full_at: Vec::new(),
            emptied: Vec::new(),
            evicted: Evicted::default(),
            beside: Beside::default(),
            lost: None,
            silent_since: Cell::new(None),
        };
        target.evicted.seen = target.evicted_externally();
        Ok(target)
    }

    /// The evictions so far of the target's external servers, as far as they report them; `None` where no server does.
    pub(crate) fn evicted_externally(&self) -> Option<u64> {
        if self.info.ownership != Ownership::External {
            return None;
        }
        let told: Vec<u64> =
            self.store.external_stats().ok()?.iter().filter_map(|stats| stats.evictions).collect();
        (!told.is_empty()).then(|| told.iter().sum())
    }

    /// Leaves nothing of the target at work while others are measured: the program of a guest's sessions ends until it
    /// is needed.
    pub(crate) fn rest(&self) {
        if let Some(guest) = &self.guest {
            guest.rest();
        }
    }

    /// The language that its clock and client are written in; `None` where it works in this process.
    pub(crate) fn language(&self) -> Option<&str> {
        self.guest.as_ref().map(|guest| guest.language_name())
    }

    /// Finds the limits of what the target really stores, until `stop` is set.
    pub(crate) fn probe(&mut self, plan: &Plan, stop: &AtomicBool) -> Result<()> {
        let mut points = plan.points_of(&self.planned);
        let Some(first) = points.next().filter(|_| self.capabilities.stores) else {
            return Ok(());
        };
        let longest = |of: fn(&PlannedPoint) -> usize| {
            plan.points_of(&self.planned).map(of).max().unwrap_or(0)
        };
        let key = longest(|point| point.keys.longest());
        let value = longest(|point| point.values.longest());
        let mut session = self.store.session()?;
        // On an external server no size is tried that the plan does not need. Nor is it where the room is bounded: of a few
        // MiB, memcached would leave a page to the entries of each tried size for good.
        let only = self.info.ownership == Ownership::External || self.planned.capacity.is_some();
        let needed = Needed { key, value, only };
        let (options, prefix) = (self.set_options(first), first.keys.prefix());
        if let Some(servers) = self.guest.as_ref().and_then(|guest| guest.limits()) {
            let theirs = probe(servers.session()?.as_mut(), prefix, needed, options, stop)?;
            if confirms(session.as_mut(), prefix, &theirs, options, stop)? {
                self.probed = theirs;
                return Ok(());
            }
        }
        self.probed = probe(session.as_mut(), prefix, needed, options, stop)?;
        Ok(())
    }

    /// The reason why a point cannot be measured on this target: a limit, or an ability that it
    /// lacks.
    pub(crate) fn refusal(&self, point: &PlannedPoint) -> Option<(ReasonKind, String)> {
        if let Some((_, said)) = self.full_at.iter().find(|(at, _)| *at == point.point) {
            return Some((ReasonKind::Full, format!("no room: {said}")));
        }
        let key = point.keys.longest();
        if let Some(limit) = self.probed.longest_accepted_key.filter(|limit| key > *limit) {
            let text = format!("key {key} B > key limit {limit} B");
            return Some((ReasonKind::Oversize, text));
        }
        let value = point.values.longest();
        if let Some(limit) = self.probed.largest_accepted_value.filter(|limit| value > *limit) {
            let (mut size, mut most) =
                (ByteSize(value as u64).to_string(), ByteSize(limit as u64).to_string());
            if size == most {
                (size, most) = (format!("{value} B"), format!("{limit} B"));
            }
            let text = format!("value {size} > item limit {most}");
            return Some((ReasonKind::Oversize, text));
        }
        if point.has_ttls() && !self.capabilities.ttl {
            return Some((ReasonKind::Unsupported, "has no TTL".into()));
        }
        if let Some(reason) = self.left_out(point) {
            return Some((ReasonKind::Unsupported, reason.into()));
        }
        let processes = point.guest_processes();
        if processes > 1 && self.guest.as_ref().is_some_and(|guest| guest.is_private()) {
            let text = format!(
                "in the memory of one process: {processes} processes would have {processes} caches"
            );
            return Some((ReasonKind::Unsupported, text));
        }
        self.lacks_all(point).map(|lack| (ReasonKind::Unsupported, lack.into()))
    }

    /// The reason why a flag keeps a point from being measured on this target.
    pub(crate) fn left_out(&self, point: &PlannedPoint) -> Option<&'static str> {
        if point.load_time.is_some() && self.guest.is_some() {
            return Some("a guest makes its values at once: leave out --load-time");
        }
        if point.pace.is_some() && self.guest.is_some() {
            return Some(
                "a guest begins each operation when the previous one is over: leave out --rate, --scan and --search",
            );
        }
        self.lacks_connections(point).or_else(|| self.unbounded_at(point))
    }

    /// The reason why the target cannot have the connections that a point asks for.
    fn lacks_connections(&self, point: &PlannedPoint) -> Option<&'static str> {
        let has_pipeline = self.capabilities.pipeline && self.guest.is_none();
        if !point.loads_connections() || has_pipeline {
            return None;
        }
        Some(match (point.load, &self.guest) {
            (Some(_), Some(_)) => {
                "a guest waits for each answer: leave out --connections and --pipeline"
            }
            (Some(_), None) => {
                "waits for the answer to each request: leave out --connections and --pipeline"
            }
            (None, _) => {
                "opens no connections beside its threads': leave out --idle-connections and --connect-rate"
            }
        })
    }

    /// The reason why no point of a plan is measured on the target, where flags leave all of them
    /// out.
    pub(crate) fn left_out_of(&self, plan: &Plan) -> Option<&'static str> {
        let mut points = plan.points.iter().filter(|point| point.is_for(&self.planned));
        let first = self.left_out(points.next()?)?;
        points.all(|point| self.left_out(point).is_some()).then_some(first)
    }

    /// The reason why the target does not keep to the capacity of a point, where the point asks for
    /// one.
    fn unbounded_at(&self, point: &PlannedPoint) -> Option<&'static str> {
        // A store that keeps nothing is measured all the same, because it shows the cost of the measuring.
        if point.capacity.is_none() || !self.capabilities.stores {
            return None;
        }
        let evicts = self.capabilities.evicts;
        let reason = self.planned.unbounded.or((!evicts).then_some(Unbounded::DROPS_NOTHING))?;
        Some(self.planned.sizes.unbounded(reason))
    }

    /// The reason for leaving out a whole point: the target lacks an operation of every measured phase, or of a
    /// phase that stores for the others.
    fn lacks_all(&self, point: &PlannedPoint) -> Option<&'static str> {
        let measured = || point.phases.iter().filter(|phase| phase.measured);
        let mut stores = measured().filter(|phase| phase.work.changes());
        let of_stores = stores.find_map(|phase| self.lack(phase));
        let of_all = || {
            let lacks: Option<Vec<_>> = measured().map(|phase| self.lack(phase)).collect();
            lacks.and_then(|lacks| lacks.first().copied())
        };
        of_stores.or_else(of_all)
    }

    /// The operation of a phase that this target lacks; such a phase is left out.
    pub(crate) fn lack(&self, phase: &PlannedPhase) -> Option<&'static str> {
        phase.operations.iter().find_map(|operation| match operation {
            Operation::Touch => (!self.capabilities.touch).then_some("has no touch"),
            // A store that keeps nothing is measured all the same, because it shows the cost of the measuring.
            Operation::GetTag if !self.capabilities.stores && self.guest.is_none() => None,
            Operation::GetTag => (!self.capabilities.groups).then_some("no reads by tag"),
            Operation::SetMany => {
                self.guest.is_some().then_some("a guest stores one key in each request")
            }
            Operation::GetEach => {
                self.guest.is_some().then_some("a guest reads no groups one by one")
            }
            _ => None,
        })
    }

    /// The number of keys in a group, where entries at a point carry the tag of their group.
    pub(crate) fn tags(&self, point: &PlannedPoint) -> Option<u32> {
        let is_tagged = point.has(Operation::GetTag) && self.capabilities.groups;
        point.group.filter(|_| is_tagged && self.guest.is_none())
    }

    /// One session a thread.
    pub(crate) fn sessions(&self, threads: u32) -> Result<Vec<Box<dyn Session>>> {
        (0..threads).map(|_| self.store.session()).collect()
    }

    /// Removes the entries of the run: all at once where the store is the run's own, else key by key.
    pub(crate) fn empty(&self, keys: &KeySpace) -> Result<()> {
        if !self.capabilities.stores {
            return Ok(());
        }
        let mut session = self.store.session()?;
        if self.capabilities.clear && self.info.ownership != Ownership::External {
            return self.heard(patiently(|| session.clear()));
        }
        let mut key = Vec::new();
        for index in 0..keys.count() {
            key.clear();
            keys.write(index, &mut key);
            self.heard(patiently(|| session.delete(&key)))?;
        }
        // A delete that was only sent is not carried out yet.
        session.settle()
    }

    /// Returns the result of a patient attempt; a time-out means that the server was silent twice.
    fn heard<T>(&self, tried: Result<T>) -> Result<T> {
        if let Err(Error::Timeout { .. }) = tried {
            self.note_silence();
        }
        tried
    }

    /// Whether the server answers: asks for one key, once, after a time-out. Without this, every delete and every
    /// counter would wait for a server that hangs.
    pub(crate) fn answers(&self, keys: &KeySpace) -> bool {
        let mut key = Vec::new();
        keys.write(0, &mut key);
        let answer =
            self.store.session().and_then(|mut session| session.get(&key, &mut Vec::new()));
        match answer {
            Err(Error::Timeout { .. }) => self.note_silence(),
            _ => self.silent_since.set(None),
        }
        !self.is_silent()
    }

    /// Notes that the server timed out twice: nothing more is asked of it.
    pub(crate) fn note_silence(&self) {
        self.silent_since.set(Some(Instant::now()));
    }

    /// Whether the server did not answer the last time, so that nothing more is asked of it.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent_since.get().is_some()
    }

    /// Whether another question to the server is worth another time-out.
    fn may_be_back(&self) -> bool {
        self.silent_since.get().is_none_or(|since| since.elapsed() > MAY_BE_BACK)
    }

    /// Tries once more to remove the run's entries from an external server that was lost. Where that fails, the reason
    /// says which keys may be left.
    pub(crate) fn tidy_up(&mut self, plan: &Plan) {
        let Some(first) = plan.points.first() else { return };
        let is_there = self.may_be_back() && self.answers(&first.keys);
        let emptied = || plan.points.iter().try_for_each(|point| self.empty(&point.keys));
        let is_emptied = is_there && emptied().is_ok();
        let until = if self.capabilities.ttl { ", for a day at most" } else { "" };
        let prefix = String::from_utf8_lossy(first.keys.prefix()).into_owned();
        if let Some(lost) = self.lost.as_mut().filter(|_| !is_emptied) {
            let left = format!("; keys of this run, `{prefix}…`, may be left there{until}");
            lost.reason.push_str(&left);
        }
    }

    /// The target is lost: the rest of the run goes on without it.
    pub(crate) fn lose(&mut self, error: &Error) {
        let pids = &self.info.server_pids;
        let again = if self.is_silent() { ", nor to a second request" } else { "" };
        self.lost.get_or_insert_with(|| Lost {
            reason: format!("{}{again}", memory::reason(error, pids)),
        });
    }

    /// Measures the target no more, although it works.
    pub(crate) fn stop(&mut self, reason: String) {
        self.lost.get_or_insert(Lost { reason });
    }

    /// Leaves out a point that the target had no room for. The target is lost where it had room for no point at all.
    pub(crate) fn leave_out(&mut self, point: &PlannedPoint, error: &Error) {
        self.full_at.push((point.point.clone(), error.to_string()));
        if self.full_at.len() == self.n_points {
            self.full_at.clear();
            self.lose(error);
        }
    }

    /// The options of every set at a point. A point with a TTL is refused on a target without TTLs, with that
    /// reason.
    pub(crate) fn set_options(&self, point: &PlannedPoint) -> SetOptions {
        let ends = match &self.guest {
            Some(guest) => guest.ends_on_external(),
            None => self.info.ownership == Ownership::External && self.capabilities.ttl,
        };
        let asked = point.set_options.ttl.filter(|_| self.capabilities.ttl);
        SetOptions { ttl: asked.or(ends.then_some(SAFETY_TTL)), ..point.set_options }
    }
}

/// The facts of a plan that a guest needs before it opens its cache.
fn demand(plan: &Plan, planned: &PlannedTarget) -> Demand {
    let most = |of: fn(&PlannedPoint) -> u64| plan.points_of(planned).map(of).max();
    Demand {
        room_bytes: most(PlannedPoint::room_bytes),
        largest_bytes: most(|point| (point.keys.longest() + point.values.longest()) as u64),
        plan_bytes: most(guest::plan_bytes).unwrap_or(0),
    }
}
