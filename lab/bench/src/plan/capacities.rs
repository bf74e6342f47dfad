//! The targets that take a capacity, and the capacities with which each is planned.

use larder_store::Catalog;

use super::{PlannedPoint, PlannedTarget};
use crate::error::{Result, usage};
use crate::scenario::{Sizes, Unbounded};

/// The option that bounds the size of a target, or why there is no such option.
pub(crate) fn size_option(
    target: &PlannedTarget,
    catalog: &Catalog,
) -> std::result::Result<&'static str, Unbounded> {
    if target.is_external() {
        return Err(Unbounded::EXTERNAL);
    }
    if !target.url.tiers().is_empty() {
        return Err(Unbounded::STACK);
    }
    catalog.size_option(target.engine).ok_or(Unbounded::NO_OPTION)
}

/// Each target once for each capacity that some point asks of it, and once for all points where it takes no capacity.
pub(crate) fn with_capacities(
    targets: Vec<PlannedTarget>,
    points: &[PlannedPoint],
    sizes: Sizes,
    catalog: &Catalog,
) -> Result<Vec<PlannedTarget>> {
    if points.iter().all(|point| point.capacity.is_none()) {
        return Ok(targets);
    }
    let mut bounded = Vec::new();
    for mut target in targets {
        target.sizes = sizes;
        match size_option(&target, catalog) {
            Err(reason) => {
                target.unbounded = Some(reason);
                bounded.push(target);
            }
            Ok(option) => {
                has_no_size(&target, option)?;
                let mut capacities = Vec::new();
                for point in points.iter().filter(|point| !point.leaves_out(&target)) {
                    if !capacities.contains(&point.capacity) {
                        capacities.push(point.capacity);
                    }
                }
                let of = |capacity| PlannedTarget { capacity, ..target.clone() };
                bounded.extend(capacities.into_iter().map(of));
            }
        }
    }
    Ok(bounded)
}

/// Refuses a capacity for a target whose URL sets the size.
fn has_no_size(target: &PlannedTarget, option: &str) -> Result<()> {
    match target.url.option(option) {
        None => Ok(()),
        Some(size) => Err(usage(target.sizes.twice(&format!("{option}={size}"), &target.name))),
    }
}
