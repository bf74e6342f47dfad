//! The memory limit of a whole run, and how a process is reported that the kernel killed for want of memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::cgroup::{self, MemoryLimit};
use larder_host::managed;
use larder_store::{ByteSize, Error};

use crate::environment::environment;
use crate::error::{Result, usage};
use crate::plan::Plan;
use crate::scenario::Scenario;

/// The smallest limit that is accepted: client, watchdog and one server need some memory before anything is stored.
const LEAST: ByteSize = ByteSize(64 << 20);

/// The number of processes that the kernel had killed for want of memory when the run began, and when the
/// turn began.
static KILLED_BEFORE: AtomicU64 = AtomicU64::new(0);
static KILLED_BEFORE_TURN: AtomicU64 = AtomicU64::new(0);

/// A process that the kernel ends for want of memory ends by this signal.
const KILLED: &str = "signal 9";
/// The longest that a process may take to end after its connections are closed.
const SOON: Duration = Duration::from_secs(1);

/// Limits the memory of this process, and of all processes that it starts, where a scenario gives a limit. The limit
/// ends when the returned value is dropped. The caller calls this before it plans the scenario or starts anything:
/// earlier memory does not count.
///
/// The memory of an article's machine is left out where this system cannot limit it. The report then names it among the
/// omissions of the form. A typed limit has to hold.
pub fn limit_memory(scenario: &mut Scenario, is_typed: bool) -> Result<Option<MemoryLimit>> {
    match entered(scenario) {
        Err(error) if scenario.article.is_some() && !is_typed => {
            scenario.leave_out_memory(&error.to_string());
            Ok(None)
        }
        entered => entered,
    }
}

/// Enters a group with the limit of a scenario.
fn entered(scenario: &Scenario) -> Result<Option<MemoryLimit>> {
    // Settings of the whole run are the same in all of its workloads.
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
    let entered = MemoryLimit::enter(limit).map_err(|reason| refused(&reason))?;
    if let Some(swap) = machine.swap_bytes.filter(|swap| *swap > 0 && entered.has_swap()) {
        let swap = ByteSize(swap);
        return Err(refused(&format!(
            "this kernel does not count swap by groups, and this machine has {swap} of swap; turn swap off (swapoff \
             -a), or boot with swapaccount=1"
        )));
    }
    Ok(Some(entered))
}

/// Refuses a plan whose memory limit does not hold, and begins to count killed processes.
pub(crate) fn begin(plan: &Plan) -> Result<()> {
    KILLED_BEFORE.store(cgroup::n_killed().unwrap_or(0), Ordering::Relaxed);
    begin_turn();
    let Some(asked) = plan.memory else { return Ok(()) };
    let holds = cgroup::limit_bytes().is_some_and(|limit| limit <= asked.0);
    if holds {
        Ok(())
    } else {
        Err(usage(format!("--memory {asked}: this process has no such limit")))
    }
}

/// Begins to count the processes that are killed while one target works.
pub(crate) fn begin_turn() {
    KILLED_BEFORE_TURN.store(cgroup::n_killed().unwrap_or(0), Ordering::Relaxed);
}

/// The reason why a target whose servers have these ids cannot go on: its error, and whether its own program was
/// killed for want of memory. The kernel kills the largest process, which may belong to another target than the one
/// at work. The text then says only that processes of the run were killed meanwhile.
pub(crate) fn reason(error: &Error, pids: &[u32]) -> String {
    let killed = cgroup::n_killed().unwrap_or(0);
    let since = |before: &AtomicU64| killed.saturating_sub(before.load(Ordering::Relaxed));
    let (of_run, of_turn) = (since(&KILLED_BEFORE), since(&KILLED_BEFORE_TURN));
    let text = error.to_string();
    if of_run > 0 && (text.contains(KILLED) || was_killed(pids, of_turn > 0)) {
        let within = cgroup::limit_bytes().map_or_else(
            || "the memory of its control group".into(),
            |limit| format!("the limit of {}", ByteSize(limit)),
        );
        return format!("was killed: out of memory within {within} ({text})");
    }
    match of_turn {
        0 => text,
        n => format!("{text} (meanwhile {n} processes of the run were killed: out of memory)"),
    }
}

/// Whether one of these children was killed. With `is_waited_for`, when the kernel has killed some process, waits a
/// moment for the end of a child.
fn was_killed(pids: &[u32], is_waited_for: bool) -> bool {
    let deadline = Instant::now() + SOON;
    loop {
        let is_killed = |pid: &u32| managed::ended(*pid).is_some_and(|way| way == KILLED);
        if pids.iter().any(is_killed) {
            return true;
        }
        if pids.is_empty() || !is_waited_for || Instant::now() > deadline {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use larder_host::managed::Group;

    use super::*;

    #[test]
    fn only_a_killed_process_counts_as_killed() {
        let [killed, lives] = [(), ()].map(|()| {
            let group = Group::spawn(Command::new("sleep").arg("100")).unwrap();
            (group.pid(), group)
        });
        killed.1.signal(libc::SIGKILL);
        assert!(was_killed(&[killed.0], true));
        assert!(!was_killed(&[lives.0], false) && !was_killed(&[], true));
    }
}
