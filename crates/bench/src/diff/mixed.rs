//! Whether two runs are alike in all but what is to be compared.

use larder_report::{Cell, Differing, Environment, Run};
use larder_store::ByteSize;

use crate::environment::is_same_memory;

/// In what the runs differ besides the figures: the machine, the program, the workload, the versions of the targets of the
/// cells that are compared.
pub(super) fn mixed(old: &Run, new: &Run, compared: &[(&Cell, &Cell)]) -> Vec<Differing> {
    let mut found = machine(old, new);
    found.extend(differing("larder", Some(&old.larder), Some(&new.larder)));
    found.extend(workload(old, new, compared));
    let mut seen = Vec::new();
    for (before, after) in compared {
        if seen.contains(&(&before.target, &after.target)) {
            continue;
        }
        seen.push((&before.target, &after.target));
        let (before, after) = (old.target(&before.target), new.target(&after.target));
        if let (Some(before), Some(after)) = (before, after) {
            let name = format!("version of {}", after.name);
            found.extend(differing(&name, before.version.as_ref(), after.version.as_ref()));
        }
    }
    found
}

/// In what the machines and the builds differ.
pub(super) fn machine(old: &Run, new: &Run) -> Vec<Differing> {
    let (old, new) = (&old.environment, &new.environment);
    let cores = |environment: &Environment| environment.cores.to_string();
    let size = |bytes: Option<u64>| bytes.map(|bytes| ByteSize(bytes).to_string());
    let memory = if alike(old.memory_bytes, new.memory_bytes) {
        None
    } else {
        differing("memory", size(old.memory_bytes).as_ref(), size(new.memory_bytes).as_ref())
    };
    let limits = (size(old.memory_limit_bytes), size(new.memory_limit_bytes));
    [
        differing("cpu", old.cpu.as_ref(), new.cpu.as_ref()),
        differing("cores", Some(&cores(old)), Some(&cores(new))),
        memory,
        differing("memory limit", limits.0.as_ref(), limits.1.as_ref()),
        differing("os", old.os.as_ref(), new.os.as_ref()),
        differing("kernel", old.kernel.as_ref(), new.kernel.as_ref()),
        differing("governor", old.governor.as_ref(), new.governor.as_ref()),
        differing("build", Some(&old.build), Some(&new.build)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn alike(a: Option<u64>, b: Option<u64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => is_same_memory(a, b),
        (a, b) => a == b,
    }
}

/// The options of the workload that are not coordinates: of these the common cells have the same anyway.
fn workload(old: &Run, new: &Run, compared: &[(&Cell, &Cell)]) -> Vec<Differing> {
    let is_coordinate = |option: &str| {
        let name = option.replace('-', "_");
        compared.iter().any(|(_, cell)| cell.point.contains_key(&name))
    };
    let mut options: Vec<&String> = old.workload.keys().chain(new.workload.keys()).collect();
    options.sort_unstable();
    options.dedup();
    let options = options.into_iter().filter(|option| !is_coordinate(option));
    let differs = |option: &String| {
        differing_or(option, old.workload.get(option), new.workload.get(option), "not given")
    };
    options.filter_map(differs).collect()
}

fn differing(name: &str, old: Option<&String>, new: Option<&String>) -> Option<Differing> {
    differing_or(name, old, new, "unknown")
}

/// The same, with what is said where there is nothing.
fn differing_or(
    name: &str,
    old: Option<&String>,
    new: Option<&String>,
    none: &str,
) -> Option<Differing> {
    let said = |value: Option<&String>| match value {
        Some(value) if !value.is_empty() => value.clone(),
        _ => none.to_owned(),
    };
    (old != new).then(|| Differing { name: name.to_owned(), old: said(old), new: said(new) })
}
