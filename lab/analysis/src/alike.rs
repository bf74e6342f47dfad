//! The conditions that must be alike before figures of different times or machines stand side by side. They apply to
//! the slices of a plan, and to two compared runs.

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

/// A circumstance by its name; `None` where the value is unknown or the machine has no such thing.
pub type Fact = (&'static str, Option<String>);

/// The circumstances of a run: those of each slice where the run was merged from slices.
pub fn circumstances(run: &Run) -> Vec<Circumstances<'_>> {
    if run.slices.is_empty() {
        return vec![Circumstances { environment: &run.environment, larder: &run.larder }];
    }
    let parts = run.slices.iter();
    parts
        .map(|part| Circumstances { environment: &part.environment, larder: &part.larder })
        .collect()
}

/// The facts of all these circumstances, always in the same order.
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

/// Whether all these circumstances are alike.
pub fn are_alike(all: &[Circumstances<'_>]) -> bool {
    facts(all).windows(2).all(|pair| pair[0] == pair[1])
}

/// The memory of the first machine of the same size: a kernel reports slightly different sizes for one machine.
fn first_alike(all: &[Circumstances<'_>], bytes: u64) -> u64 {
    let sizes = all.iter().filter_map(|one| one.environment.memory_bytes);
    sizes.into_iter().find(|other| is_same_memory(*other, bytes)).unwrap_or(bytes)
}

/// The measured versions of the target with this URL, each once. A slice that could not open the target adds no
/// version.
pub(crate) fn versions<'a>(run: &'a Run, url: &str) -> Vec<&'a str> {
    let of_target = run.target(url).and_then(|target| target.version.as_deref());
    if run.slices.is_empty() {
        return of_target.into_iter().collect();
    }
    let of_parts = run.slices.iter().filter_map(|part| part.versions.get(url)?.as_deref());
    let mut versions = Vec::new();
    for version in of_parts {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

/// Whether two sizes may be the memory of one machine. From one boot to the next a kernel reports up to a hundredth
/// more or less.
fn is_same_memory(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= a.max(b) / 100
}
