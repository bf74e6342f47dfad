//! The limits of a run's evidence, at the end of every report.

use crate::figures::{list, seconds};
use crate::header::{option, rounds};
use crate::model::{Cell, Operation, PointValue, Run, Severity, Target};
use crate::points::{coordinate, points};
use crate::verified::verified;

/// The heading above the limits.
pub const NOT_SHOWN: &str = "What this does not show";

/// Whole sentences, the general ones first.
pub fn not_shown(run: &Run) -> Vec<String> {
    let one_machine = "The run used one machine and one client process: other hardware, other versions, other \
                       settings and load from many machines may reverse the order.";
    let mut sentences = vec![one_machine.to_owned()];
    sentences.extend(servers(run));
    sentences.push(sizes(run));
    if run.cells.iter().any(|cell| cell.operation.reads() && cell.counts.hits > 0) {
        sentences.push(
            "The caches were warm and freshly filled: the time after a start, and fragmentation after days, are \
             not in these figures."
                .to_owned(),
        );
    }
    if run.cells.iter().any(|cell| cell.ops_per_s_ci95.is_some()) {
        sentences.push(format!(
            "An interval shows the spread of the {} of this run, {} in all, and not the changes from day to day.",
            rounds(run),
            seconds(run.duration_s)
        ));
    }
    sentences.extend(one_writer(run));
    sentences.extend(until(run));
    sentences.extend(room(run));
    sentences.extend(without_memory(run));
    sentences.extend(clean(run));
    sentences.extend(absent(run));
    sentences
}

/// Each thread writes its own keys of a phase, so that the right value of each key is known.
fn one_writer(run: &Run) -> Option<String> {
    let of_run = run.workload.get("threads").and_then(|threads| threads.parse::<u64>().ok());
    let threads = |cell: &Cell| match (cell.driven, cell.point.get("threads")) {
        (Some(driven), _) => Some(driven.connections.into()),
        (None, Some(PointValue::Number(threads))) => Some(*threads),
        _ => of_run,
    };
    let writes = |cell: &&Cell| cell.operation.only_stores() || cell.operation == Operation::Delete;
    let together = run.cells.iter().filter(writes).any(|cell| threads(cell) > Some(1));
    together.then(|| {
        "Each key had one writer: two connections that write one key at the same moment were not tried."
            .to_owned()
    })
}

/// The note on rounds that ended once the intervals were narrow, which some are by chance.
fn until(run: &Run) -> Option<String> {
    let sought = run.workload.get("until")?;
    run.cells.iter().any(|cell| cell.ops_per_s_ci95.is_some()).then(|| {
        format!(
            "The rounds went on until the intervals were as narrow as ±{}. Some are so narrow by chance, so the \
             intervals hold the true figure somewhat less often than 95 times in a hundred. A fixed number of rounds \
             avoids this.",
            option("until", sought)
        )
    })
}

fn servers(run: &Run) -> Vec<String> {
    let owned = |ownership: &'static str| {
        let owned = move |target: &&Target| {
            target.reason.is_none() && target.ownership.as_deref() == Some(ownership)
        };
        run.targets.iter().filter(owned)
    };
    let name = |target: &'_ Target| target.name.clone();
    let names = |targets: &[String]| list(&targets.iter().map(String::as_str).collect::<Vec<_>>());
    let (far, near): (Vec<&Target>, Vec<&Target>) =
        owned("managed").partition(|target| delay(target).is_some());
    let managed: Vec<String> = near.into_iter().map(name).collect();
    // An external server whose process was found is here too.
    let is_here = |target: &&Target| {
        run.cells.iter().any(|cell| {
            let of_server = cell.server_cpu_s.is_some() || cell.rss_bytes.is_some();
            cell.target == target.url && of_server
        })
    };
    let managed: Vec<String> =
        managed.into_iter().chain(owned("external").filter(is_here).map(name)).collect();
    let external: Vec<String> = owned("external").map(name).collect();
    let mut sentences = Vec::new();
    if !managed.is_empty() {
        sentences.push(format!(
            "{} ran on this machine beside the client, reached over loopback or a socket: a network adds delay and \
             losses, and removes the competition for the processors.",
            names(&managed)
        ));
    }
    let mut delays: Vec<String> = far.iter().filter_map(|target| delay(target)).collect();
    delays.dedup();
    for added in delays {
        let behind = far.iter().filter(|target| delay(target).as_ref() == Some(&added));
        sentences.push(format!(
            "{} ran on this machine too, and a relay added the delay of a network, {added} a round trip: these figures \
             leave out a network's losses and limits, and include the competition for the processors.",
            names(&behind.map(|target| name(target)).collect::<Vec<_>>())
        ));
    }
    if !external.is_empty() {
        let (was, its) = if external.len() == 1 { ("was", "its") } else { ("were", "their") };
        sentences.push(format!(
            "{} {was} running before: {its} settings are not ours, and {its} other work meanwhile is not known.",
            names(&external)
        ));
    }
    sentences
}

/// The delay that a relay adds to a target, or to a tier of it: `2 ms`.
fn delay(target: &Target) -> Option<String> {
    let is_via = |name: &str| name.rsplit('.').next() == Some("via");
    let (_, via) = target.settings.iter().find(|(name, _)| is_via(name))?;
    let delay = via.split(',').next().unwrap_or_default();
    let span = delay.strip_prefix("delay:").unwrap_or(delay);
    let digits = span.trim_end_matches(char::is_alphabetic);
    let unit = if span.ends_with("us") { "µs" } else { &span[digits.len()..] };
    Some(format!("{digits} {unit}"))
}

/// The sizes of values for which the figures hold.
fn sizes(run: &Run) -> String {
    let swept: Vec<String> = if run.swept().contains(&"data_size") {
        let mut sizes: Vec<&PointValue> =
            points(run).into_iter().filter_map(|point| point.get("data_size")).collect();
        // The parts of a scenario may share sizes.
        sizes.sort();
        sizes.dedup();
        sizes.into_iter().map(|size| coordinate("data_size", size)).collect()
    } else {
        run.workload.get("data-size").map(|size| option("data-size", size)).into_iter().collect()
    };
    let texts: Vec<&str> = swept.iter().map(String::as_str).collect();
    match texts.as_slice() {
        [] => {
            "The figures hold for the sizes of keys and values that were used, and for no others."
                .to_owned()
        }
        [size] if size.starts_with("recorded (") => {
            let recorded = size.trim_start_matches("recorded (").trim_end_matches(')');
            format!("Values of other sizes than the recorded ones ({recorded}) were not tried.")
        }
        sizes => format!("Values of other sizes than {} were not tried.", list(sizes)),
    }
}

/// A sweep uses one store at all points, and few stores give memory back.
fn room(run: &Run) -> Option<String> {
    let shown = run.cells.iter().any(|cell| cell.rss_bytes.or(cell.disk_bytes).is_some());
    (shown && !run.swept().is_empty()).then(|| {
        "Memory and disk of a point include earlier points: a store that gives no room back shows the use of its \
         largest point."
            .to_owned()
    })
}

/// Targets in this process or a guest's without a figure of memory, because the harness uses more.
fn without_memory(run: &Run) -> Option<String> {
    let is_left_out = |target: &&Target| {
        let measured = |cell: &Cell| cell.target == target.url && cell.ops_per_s.is_some();
        let own = |cell: &Cell| {
            let mut floors = run.floors.iter().filter(|floor| floor.language == target.language);
            floors.any(|floor| {
                (&floor.point, floor.operation) == (&cell.point, cell.operation)
                    && floor.rss_bytes.is_some()
            })
        };
        target.ownership.as_deref() == Some("embedded")
            && target.stores == Some(true)
            && run.cells.iter().any(|cell| measured(cell) && own(cell) && cell.rss_bytes.is_none())
    };
    let left_out: Vec<&str> =
        run.targets.iter().filter(is_left_out).map(|target| target.name.as_str()).collect();
    (!left_out.is_empty()).then(|| {
        format!(
            "The memory of {} is not shown where the harness takes more of the process than the cache does.",
            list(&left_out)
        )
    })
}

/// The number of verified answers; only without findings, because a finding speaks for itself.
fn clean(run: &Run) -> Option<String> {
    let all = verified(run);
    let is_doubted = run
        .checks
        .iter()
        .any(|check| check.severity == Severity::Error && (check.stored || check.id == TTL_TRUTH));
    (all.right > 0 && all.is_clean() && !is_doubted).then(|| {
        format!(
            "Each of {} compared answers was right, but like any test this cannot prove that no error exists.",
            all.right
        )
    })
}

/// The check of values that outlive their TTL, or end before it.
const TTL_TRUTH: &str = "TTL-TRUTH";

fn absent(run: &Run) -> Option<String> {
    let names: Vec<&str> = run
        .targets
        .iter()
        .filter(|target| target.reason.is_some())
        .map(|target| target.name.as_str())
        .collect();
    (!names.is_empty()).then(|| format!("Nothing is known of {}.", list(&names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> Run {
        Run::from_json(include_str!("../tests/fixture/run.json")).unwrap()
    }

    /// A run whose first targets are external servers with these names; `is_found` tells whether the process was found.
    fn somebodys(names: &[(&str, bool)]) -> Run {
        let mut run = fixture();
        run.targets.truncate(names.len());
        for (target, (name, is_found)) in run.targets.iter_mut().zip(names) {
            target.name = (*name).to_owned();
            target.ownership = Some("external".to_owned());
            target.reason = None;
            target.settings.clear();
            for cell in run.cells.iter_mut().filter(|cell| cell.target == target.url) {
                // In a mix the CPU time of an operation is unknown; the memory is known.
                cell.server_cpu_s = None;
                cell.rss_bytes = is_found.then_some(1 << 20);
            }
        }
        run
    }

    #[test]
    fn external_servers_are_told_as_one_or_as_several_with_their_place() {
        let told = servers(&somebodys(&[("a", true), ("b", false)])).join(" ");
        assert!(told.starts_with("a ran on this machine beside the client"), "{told}");
        assert!(
            told.contains("a and b were running before: their settings are not ours"),
            "{told}"
        );
        assert!(told.contains("their other work meanwhile"), "{told}");
        let told = servers(&somebodys(&[("b", false)])).join(" ");
        assert!(told.starts_with("b was running before: its settings are not ours"), "{told}");
        assert!(told.contains("its other work meanwhile"), "{told}");
    }

    #[test]
    fn recorded_sizes_are_told_as_such() {
        let mut run = somebodys(&[("a", true)]);
        run.cells.iter_mut().for_each(|cell| {
            cell.point.insert("data_size".into(), PointValue::Text("recorded".into()));
        });
        run.workload.insert("data-size".into(), "recorded (100 B)".into());
        assert_eq!(
            sizes(&run),
            "Values of other sizes than the recorded ones (100 B) were not tried."
        );
    }
}
