//! Targets with a capacity: how a store rounds it, and how its size stays within it.
//!
//! Some engines round their size up to whole megabytes or pages. A cache that is larger than asked hits more often
//! than a cache that keeps to the size. So the capacity that a store reports counts: the store is opened with smaller
//! sizes until it reports no more than was asked for.

use larder_store::{ByteSize, Catalog, Error, Result, StoreUrl};

use super::Target;
use crate::plan::{Plan, PlannedPoint, PlannedTarget, size_option};

/// The number of times that a store is opened, each time with a smaller size.
const TRIES: u32 = 7;

/// The URL of a target with this bound.
pub(super) fn bounded_url(target: &PlannedTarget, bytes: u64, catalog: &Catalog) -> StoreUrl {
    let url = target.url.clone();
    match size_option(target, catalog) {
        // Some engines read a bare number as mebibytes.
        Ok(option) => url.or_option(option, &format!("{bytes}b")),
        Err(_) => url,
    }
}

/// Opens a target that reports at most this capacity, in bytes.
pub(super) fn open_within(
    planned: &PlannedTarget,
    capacity: u64,
    open: impl Fn(u64) -> Result<Target>,
) -> Result<Target> {
    let mut asked = capacity;
    let mut taken = capacity;
    for tried in 0..TRIES {
        let target = match open(asked) {
            // The store does not open with less: the capacity that it took before is its smallest.
            Err(_) if asked < capacity => break,
            opened => opened?,
        };
        let Some(took) = target.capacity_bytes.filter(|took| *took > capacity) else {
            return Ok(target);
        };
        // The first retry scales the size down, as for several servers of which each takes all of it. Later retries
        // subtract the excess, each time four times as much of it, because the steps of the rounding are not known.
        asked = if tried == 0 {
            u64::try_from(u128::from(asked) * u128::from(capacity) / u128::from(took)).unwrap_or(1)
        } else {
            asked.saturating_sub((took - capacity).saturating_mul(4_u64.pow(tried - 1)))
        };
        asked = asked.max(1);
        taken = took;
    }
    let taken = ByteSize(taken);
    let what = format!("it takes {taken}");
    Err(Error::Unavailable { engine: planned.engine.scheme, what, source: None })
}

/// The reason why a target does not open with so small a capacity: the same words for all engines, with the store's
/// own message. The text leaves the capacity out, so that an equal reason of several targets is reported once.
pub(crate) fn too_small(planned: &PlannedTarget, error: &Error, plan: &Plan) -> String {
    let why = match error {
        // The advice in the store's message is left out: that store is closed by now, and the capacity sets its
        // memory.
        Error::Full { .. } => "it is full before it holds the trial values".to_owned(),
        // The size is in the unit of the capacities beside it. The size that the store was given is left out: the user
        // did not ask for it.
        Error::SizeTooSmall { least, .. } => format!("it takes {least}"),
        Error::InvalidOptions { reason: what, .. } | Error::Unavailable { what, .. } => {
            what.trim_end_matches('.').to_owned()
        }
        other => other.to_string(),
    };
    // A trace has its own keys.
    let has_own_keys = plan.points.iter().any(PlannedPoint::replays);
    planned.sizes.too_small(&why, has_own_keys)
}

/// Whether the capacity is all that is wrong with the options of a target: with room for all entries the target opens.
pub(crate) fn is_too_small(planned: &PlannedTarget, plan: &Plan, catalog: &Catalog) -> bool {
    let roomy = PlannedTarget { capacity: None, ..planned.clone() };
    planned.capacity.is_some() && Target::open(&roomy, plan, catalog).is_ok()
}
