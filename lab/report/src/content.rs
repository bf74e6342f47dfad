//! The content of a target compared with its capacity, and with an exact LRU of that capacity.
//!
//! A cache may evict later than it stores, and so hold more than its capacity most of the time. It then hits more often
//! than a cache within its capacity, without any merit.

use larder_store::ByteSize;

use crate::hit_ratio::has_capacity;
use crate::model::{Cell, HitRatios, PointValue, Run, Target};
use crate::points::CAPACITY;

/// The tolerated excess over a capacity, besides the entries that are being stored: a target may evict in batches, and
/// round up.
const TOLERABLE: f64 = 0.05;
/// The least difference of hit ratios that is no noise: a percentage point.
pub(crate) const NO_NOISE: f64 = 0.01;

/// The content of a target beyond its capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Above {
    /// The most bytes that it held, or that it had taken for them.
    pub held_bytes: u64,
    /// Whether that is the memory which it had taken for entries, and not the entries themselves.
    pub is_memory: bool,
    /// Its capacity.
    pub capacity_bytes: u64,
    /// Whether `--capacity` asked for this capacity; otherwise it is the target's own.
    pub is_asked: bool,
    /// The excess as a share of the capacity, 0.5 for half as much again.
    pub share: f64,
}

impl Above {
    /// `held up to 13.7 MiB`.
    pub fn what(&self) -> String {
        let held = ByteSize(self.held_bytes);
        if self.is_memory {
            format!("took up to {held} of memory for its entries")
        } else {
            format!("held up to {held}")
        }
    }
}

/// The content of a target beyond its capacity in a cell, where entries that are being stored do not explain it.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
pub fn held_above(run: &Run, cell: &Cell) -> Option<Above> {
    let entries_bytes = cell.held_bytes_peak.unwrap_or(0);
    let held_bytes = cell.held_bytes_peak.max(cell.allocated_bytes_peak)?;
    let is_memory = held_bytes > entries_bytes;
    let (capacity_bytes, is_asked) = match cell.point.get(CAPACITY) {
        Some(PointValue::Number(asked)) => (*asked, true),
        Some(PointValue::Text(_)) => return None,
        None => (run.target(&cell.target)?.capacity_bytes?, false),
    };
    let items = cell.held_items_peak.filter(|items| *items > 0);
    let entry = items.map_or(0, |items| entries_bytes / items);
    let coming_in = cell.under_way().saturating_mul(entry);
    let most = capacity_bytes as f64 * (1.0 + TOLERABLE) + coming_in as f64;
    let share = held_bytes as f64 / capacity_bytes.max(1) as f64 - 1.0;
    let above = Above { held_bytes, is_memory, capacity_bytes, is_asked, share };
    (held_bytes as f64 > most).then_some(above)
}

/// Whether a target kept to its capacity in a cell, as far as its own count and its hits tell.
pub fn keeps_to_capacity(run: &Run, cell: &Cell) -> bool {
    held_above(run, cell).is_none() && beats_itself(run, cell).is_none()
}

/// What a target held of the capacity that `--capacity` asked for, both in bytes, where it dropped entries with less than
/// half of that. Its hit ratio is then that of less room.
pub fn held_below(cell: &Cell) -> Option<(u64, u64)> {
    let Some(PointValue::Number(asked)) = cell.point.get(CAPACITY) else { return None };
    let held = cell.held_bytes_peak?;
    let drops = cell.counts.evictions.is_some_and(|evictions| evictions > 0);
    (drops && held < asked / 2).then_some((held, *asked))
}

/// A target's own setting for its choice of the entry to evict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lru {
    /// The least recently used entry.
    Exact,
    /// Nearly the least recently used entry: the oldest of a sample, or of a segment.
    Approximate,
}

/// Whether a target declares itself an LRU in its effective settings.
pub(crate) fn lru_of(target: &Target) -> Option<Lru> {
    let is = |name: &str, means: fn(&str) -> bool| {
        let mut words = target.settings.get(name).into_iter().flat_map(|text| text.split(", "));
        words.any(means)
    };
    if is("policy", |word| word == "lru") {
        return Some(Lru::Exact);
    }
    let samples = is("maxmemory-policy", |word| word.ends_with("-lru"));
    let segments = is("lru_maintainer_thread", |word| word == "yes");
    (samples || segments).then_some(Lru::Approximate)
}

/// The models beside a target that declares itself an exact LRU and hit clearly more often than one can: it held more
/// than its capacity. `None` where several operations are under way at once, because the model saw them in another order.
pub fn beats_itself<'run>(run: &'run Run, cell: &Cell) -> Option<&'run HitRatios> {
    if cell.under_way() > 1 {
        return None;
    }
    let target = run.target(&cell.target).filter(|target| lru_of(target) == Some(Lru::Exact))?;
    let ratio = cell.hit_ratio()?;
    let curves = run.hit_curves.iter().filter(|curve| curve.operation == cell.operation);
    let mut models = curves.flat_map(|curve| curve.capacities.iter().map(move |at| (curve, at)));
    let here = models.find(|(curve, at)| has_capacity(target, cell, &curve.point, at));
    here.map(|(_, at)| at).filter(|at| ratio - at.lru > NO_NOISE)
}
