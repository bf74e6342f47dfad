//! Targets that may hold only so much: what they make of what they are told.
//!
//! Some round up what they are told, to whole megabytes or pages. A cache that is larger than was asked for would hit more
//! often than one that keeps to it, so what it tells of itself is what counts: it is told less until it takes no more.

use larder_store::{ByteSize, Catalog, Error, Result, StoreUrl};

use super::Target;
use crate::plan::{Plan, PlannedTarget, size_option};

/// How often one is told less.
const TRIES: u32 = 7;

/// The URL of a target with this bound.
pub(super) fn bounded_url(target: &PlannedTarget, bytes: u64, catalog: &Catalog) -> StoreUrl {
    let url = target.url.clone();
    match size_option(target, catalog) {
        // A bare number may be one of mebibytes.
        Ok(option) => url.or_option(option, &format!("{bytes}b")),
        Err(_) => url,
    }
}

/// Opens a target that holds at most so many bytes, by its own account.
pub(super) fn open_within(
    planned: &PlannedTarget,
    capacity: u64,
    open: impl Fn(u64) -> Result<Target>,
) -> Result<Target> {
    let mut asked = capacity;
    let mut taken = capacity;
    for tried in 0..TRIES {
        let target = match open(asked) {
            // With less it does not open at all; what it took before was its least.
            Err(_) if asked < capacity => break,
            opened => opened?,
        };
        let Some(took) = target.capacity_bytes.filter(|took| *took > capacity) else {
            return Ok(target);
        };
        // The first time by the factor, as for one of several servers that each take it all; then by what is too much, and
        // each time four times that, because the steps that it rounds to are not known.
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

/// The reason of a target that does not open with so little: the same words for all, with the store's own message.
/// The capacity is not named, so that what is the same of several is told once.
pub(crate) fn too_small(error: &Error) -> String {
    let why = match error {
        // The store that answered is closed by now, and more memory is given by the capacity.
        Error::Full { .. } => "it is full before it holds what is tried".to_owned(),
        // In the unit of the capacities beside it; what it was given is not what the user asked for.
        Error::SizeTooSmall { least, .. } => format!("it takes {least}"),
        Error::InvalidOptions { reason: what, .. } | Error::Unavailable { what, .. } => {
            what.trim_end_matches('.').to_owned()
        }
        other => other.to_string(),
    };
    format!("cannot be as small as --capacity asks: {why}; take a larger one, or more --keys")
}

/// Whether what is wrong with the options of a target is only that the capacity is too small for it: with room for all that
/// is stored it opens.
pub(crate) fn is_too_small(planned: &PlannedTarget, plan: &Plan, catalog: &Catalog) -> bool {
    let roomy = PlannedTarget { capacity: None, ..planned.clone() };
    planned.capacity.is_some() && Target::open(&roomy, plan, catalog).is_ok()
}
