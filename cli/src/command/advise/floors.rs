//! The smallest sizes of candidates that are larger than all that the trace needs.
//!
//! A cache of few entries takes no limit of some KiB, each cache up to another size. Such a candidate is measured at the smallest
//! size that it takes, and no other candidate is: more room than twice all entries buys nothing.

use larder_bench::{Error, Permissions, Plan, PlannedTarget, Silent, estimate};

use super::sizes;
use crate::catalog::CATALOG;
use crate::interrupt::Interrupts;

/// The sizes of candidates that take no size that is worth a measurement.
#[derive(Debug)]
pub(super) struct Floors {
    /// The largest size at which all candidates are tried.
    common: u64,
    /// Candidates by name, each with the smallest size that it takes.
    floors: Vec<(String, u64)>,
}

impl Floors {
    /// Tries the candidates at ever smaller sizes, from the largest on. `plan` makes a plan of all of them at these sizes.
    pub(super) fn find(
        common: u64,
        memory: Option<u64>,
        plan: impl FnOnce(&[u64]) -> anyhow::Result<Plan>,
        permissions: Permissions,
        interrupts: &Interrupts,
    ) -> anyhow::Result<Self> {
        let larger = sizes::larger(common, memory);
        let mut floors: Vec<(String, u64)> = Vec::new();
        if larger.is_empty() {
            return Ok(Self { common, floors });
        }
        let tried: Vec<u64> = [common].into_iter().chain(larger).collect();
        let mut plan = plan(&tried)?;
        let all = std::mem::take(&mut plan.targets);
        let mut refused: Vec<String> = Vec::new();
        for size in tried.into_iter().rev() {
            let is_tried = |target: &&PlannedTarget| {
                target.capacity == Some(size) && !refused.contains(&target.name)
            };
            plan.targets = all.iter().filter(is_tried).cloned().collect();
            if plan.targets.is_empty() {
                break;
            }
            let estimated = estimate(&plan, &CATALOG, permissions, &Silent, &interrupts.stop);
            let estimates = match estimated {
                Ok((estimates, _)) => estimates,
                // What takes no size takes no smaller one.
                Err(Error::NoTarget(_)) => break,
                Err(error) => return Err(error.into()),
            };
            for (target, estimate) in plan.targets.iter().zip(&estimates) {
                if estimate.reason.is_some() {
                    refused.push(target.name.clone());
                } else {
                    floors.retain(|(name, _)| *name != target.name);
                    floors.push((target.name.clone(), size));
                }
            }
        }
        floors.retain(|(_, floor)| *floor > common);
        Ok(Self { common, floors })
    }

    /// The sizes at which all candidates are measured, and those of single ones.
    pub(super) fn with_common(&self, sizes: &[u64]) -> Vec<u64> {
        let own = self.floors.iter().map(|(_, floor)| *floor);
        let mut all: Vec<u64> = sizes.iter().copied().chain(own).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Leaves out of a plan what is larger than common, but for the candidates that take nothing smaller.
    pub(super) fn leave_out_larger(&self, plan: &mut Plan) {
        let Plan { targets, points, .. } = plan;
        for point in points.iter_mut() {
            let Some(size) = point.capacity.filter(|size| *size > self.common) else { continue };
            let is_own = |name: &String| self.floors.contains(&(name.clone(), size));
            let others = targets.iter().map(|target| &target.name).filter(|name| !is_own(name));
            point.left_out = others.cloned().collect();
        }
        points.retain(|point| targets.iter().any(|target| point.is_for(target)));
        targets.retain(|target| points.iter().any(|point| point.is_for(target)));
    }
}
