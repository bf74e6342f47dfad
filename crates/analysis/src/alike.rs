//! Conditions that must be alike where figures are set side by side that were measured at different times or on different
//! machines: slices of a plan, and runs of which one is compared with the other.

use larder_report::{Environment, Run};
use larder_store::ByteSize;

/// The circumstances of one run, or of a slice of one.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The machine.
    pub environment: &'a Environment,
    /// The version of Larder.
    pub larder: &'a str,
}

/// A circumstance by its name; `None` where it is not known, or where there is nothing of the kind.
pub type Fact = (&'static str, Option<String>);

/// The circumstances of a run: those of each slice where it was put together of such.
pub fn circumstances(run: &Run) -> Vec<Circumstances<'_>> {
    if run.parts.is_empty() {
        return vec![Circumstances { environment: &run.environment, larder: &run.larder }];
    }
    let parts = run.parts.iter();
    parts
        .map(|part| Circumstances { environment: &part.environment, larder: &part.larder })
        .collect()
}

/// The conditions of each of these, always in the same order.
pub(crate) fn facts(all: &[Circumstances<'_>]) -> Vec<[Fact; 9]> {
    let size = |bytes: Option<u64>| bytes.map(|bytes| ByteSize(bytes).to_string());
    let of_one = |Circumstances { environment, larder }: &Circumstances<'_>| {
        let Environment { cpu, cores, os, kernel, governor, build, .. } = environment;
        [
            ("cpu", cpu.clone()),
            ("cores", Some(cores.to_string())),
            ("memory", size(environment.memory_bytes.map(|bytes| first_alike(all, bytes)))),
            ("memory limit", size(environment.memory_limit_bytes)),
            ("os", os.clone()),
            ("kernel", kernel.clone()),
            ("governor", governor.clone()),
            ("build", Some(build.clone())),
            ("larder", Some((*larder).to_owned())),
        ]
    };
    all.iter().map(of_one).collect()
}

/// Whether all of these are alike.
pub fn are_alike(all: &[Circumstances<'_>]) -> bool {
    facts(all).windows(2).all(|pair| pair[0] == pair[1])
}

/// The memory of the first machine that has as much: what a kernel tells of one and the same varies.
fn first_alike(all: &[Circumstances<'_>], bytes: u64) -> u64 {
    let sizes = all.iter().filter_map(|one| one.environment.memory_bytes);
    sizes.into_iter().find(|other| is_same_memory(*other, bytes)).unwrap_or(bytes)
}

/// The versions of a target that were measured, by its URL, each once; of a slice in which it could not be opened there is
/// none.
pub(crate) fn versions<'a>(run: &'a Run, url: &str) -> Vec<&'a str> {
    let of_target = run.target(url).and_then(|target| target.version.as_deref());
    if run.parts.is_empty() {
        return of_target.into_iter().collect();
    }
    let of_parts = run.parts.iter().filter_map(|part| part.versions.get(url)?.as_deref());
    let mut versions = Vec::new();
    for version in of_parts {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// Whether two sizes may be those of one machine's memory: from one start to the next a kernel tells up to a hundredth more or
/// less of it.
fn is_same_memory(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= a.max(b) / 100
}
