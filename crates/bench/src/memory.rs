//! How much memory a whole run may have, and what happens to those who take more.

use std::sync::atomic::{AtomicU64, Ordering};

use larder_host::cgroup::{self, MemoryLimit};
use larder_store::{ByteSize, Error};

use crate::environment::environment;
use crate::error::{Result, usage};
use crate::plan::Plan;
use crate::scenario::Scenario;

/// The least that is taken for a limit: client, watchdog and one server need some of it before anything is stored.
const LEAST: ByteSize = ByteSize(64 << 20);

/// How many of those that were killed for want of memory have been told of.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// Limits the memory of this process, and of all that it will start, where a scenario says so; until what is returned is
/// dropped. To be called before the scenario is planned and anything is started: what was taken before does not count.
pub fn limit_memory(scenario: &Scenario) -> Result<Option<MemoryLimit>> {
    // What holds for the whole run is the same in all of its workloads.
    let asked = scenario.workloads().first().and_then(|(_, spec)| spec.memory);
    let Some(limit) = asked else { return Ok(None) };
    let refused = |reason: &str| usage(format!("--memory {}: {reason}", limit.typed()));
    if limit < LEAST {
        return Err(refused(&format!("below {LEAST}; give it more")));
    }
    let machine = environment();
    if let Some(memory) = machine.memory_bytes.map(ByteSize).filter(|memory| limit >= *memory) {
        return Err(refused(&format!("this machine has {memory}; give it less, or leave it out")));
    }
    let entered = MemoryLimit::enter(limit).map_err(|reason| {
        let short = limit.typed().to_uppercase();
        refused(&format!(
            "{reason}; run as root, or have it limited from outside: systemd-run --user --scope -p MemoryMax={short} -p \
             MemorySwapMax=0 larder …"
        ))
    })?;
    if let Some(swap) = machine.swap_bytes.filter(|swap| *swap > 0 && entered.has_swap()) {
        let swap = ByteSize(swap);
        return Err(refused(&format!(
            "this kernel does not count swap by groups, and there are {swap} of it; turn it off (swapoff -a), or boot with \
             swapaccount=1"
        )));
    }
    Ok(Some(entered))
}

/// Refuses a plan whose limit does not hold, and begins to count who is killed.
pub(crate) fn begin(plan: &Plan) -> Result<()> {
    TOLD.store(cgroup::n_killed().unwrap_or(0), Ordering::Relaxed);
    let Some(asked) = plan.memory else { return Ok(()) };
    let holds = cgroup::limit_bytes().is_some_and(|limit| limit <= asked.0);
    if holds { Ok(()) } else { Err(usage(format!("--memory {asked}: it was not limited before"))) }
}

/// Why a target can go on no more: what it said, or that something of it was killed since somebody was told last.
pub(crate) fn reason(error: &Error) -> String {
    let killed = cgroup::n_killed().unwrap_or(0);
    if killed <= TOLD.swap(killed, Ordering::Relaxed) {
        return error.to_string();
    }
    let within = cgroup::limit_bytes().map_or_else(
        || "the memory of its control group".into(),
        |limit| format!("the limit of {}", ByteSize(limit)),
    );
    format!("was killed: out of memory within {within} ({error})")
}
