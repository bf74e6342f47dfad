//! The targets of merged slices: for each target, the facts that hold in all of its slices.

use larder_report::{Limits, Slice, Target, TtlTrial};
use larder_store::ByteSize;

use super::Sliced;
use larder_analysis::check::grouped;

/// The targets, each from the first slice in which it could run, but with the least limits of all slices.
pub(super) fn targets(parts: &[(Slice, Sliced)]) -> Vec<Target> {
    let together = |first: &Target| {
        let mut ran = ran(parts, &first.url).map(|(_, target)| target);
        let mut target = ran.next().unwrap_or(first).clone();
        ran.for_each(|other| unite(&mut target, other));
        target
    };
    parts[0].1.run.targets.iter().map(together).collect()
}

/// The target with this URL in each slice in which it could run.
fn ran<'a>(
    parts: &'a [(Slice, Sliced)],
    url: &'a str,
) -> impl Iterator<Item = (&'a Slice, &'a Target)> {
    let all = parts.iter().filter_map(|(slice, sliced)| Some((slice, sliced.run.target(url)?)));
    all.filter(|(_, target)| target.reason.is_none())
}

fn unite(target: &mut Target, other: &Target) {
    target.capacity_bytes = least(target.capacity_bytes, other.capacity_bytes);
    let (a, b) = (target.limits, other.limits);
    target.limits = Limits {
        max_key_len: least(a.max_key_len, b.max_key_len),
        max_value_len: least(a.max_value_len, b.max_value_len),
        probed_key_len: a.probed_key_len.min(b.probed_key_len),
        probed_value_len: a.probed_value_len.min(b.probed_value_len),
    };
    // Where a test server answered in one slice only, the rounds of that slice are in all figures.
    for (name, text) in &other.settings {
        target.settings.entry(name.clone()).or_insert_with(|| text.clone());
    }
    add_observed(target, other);
}

/// Adds observations of the same target at another capacity or in another slice: keeps the trial with the worst
/// result, and adds the sums.
pub(in crate::compare) fn add_observed(target: &mut Target, other: &Target) {
    let broken = |trial: &TtlTrial| {
        let early = trial.early
            + trial.middle_early
            + trial.touch_lengthened_early
            + trial.set_lengthened_early;
        let late =
            trial.late + trial.touch_shortened_late + trial.set_shortened_late + trial.read_late;
        (late, early)
    };
    target.ttl = target.ttl.take().into_iter().chain(other.ttl.clone()).max_by_key(broken);
    let sum = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(|a, b| a + b);
    target.other_turns_server_cpu_s =
        sum(target.other_turns_server_cpu_s, other.other_turns_server_cpu_s);
    target.other_turns_wall_s = sum(target.other_turns_wall_s, other.other_turns_wall_s);
    target.own_turns_wall_s = sum(target.own_turns_wall_s, other.own_turns_wall_s);
    let evictions = target.external_evictions.into_iter().chain(other.external_evictions);
    target.external_evictions = evictions.reduce(|a, b| a + b);
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

/// The differences of a target between slices, a sentence each. Settings are left out, because their addresses and
/// paths differ in each run anyway. The check VERSION-PARITY reports the versions.
pub(super) fn notes(parts: &[(Slice, Sliced)]) -> Vec<String> {
    type Fact = (&'static str, fn(&Target) -> Option<String>);
    const FACTS: [Fact; 7] = [
        ("durability", |target| target.durability.clone()),
        ("reach", |target| target.reach.clone()),
        ("ownership", |target| target.ownership.clone()),
        ("file system", |target| target.file_system.clone()),
        ("capacity", |target| target.capacity_bytes.map(|bytes| ByteSize(bytes).to_string())),
        ("longest key", |target| target.limits.max_key_len.map(|len| format!("{len} B"))),
        ("largest value", |target| {
            target.limits.max_value_len.map(|len| ByteSize(len).to_string())
        }),
    ];
    let of_target = |target: &Target| {
        let differing = FACTS.map(|(name, fact)| {
            let values: Vec<(String, String)> = ran(parts, &target.url)
                .map(|(slice, target)| {
                    (fact(target).unwrap_or_else(|| "unknown".into()), slice.number.to_string())
                })
                .collect();
            let values: Vec<(&str, &str)> =
                values.iter().map(|(value, slice)| (&**value, &**slice)).collect();
            Some(format!("{name} {}", grouped(&values)?))
        });
        let differing: Vec<String> = differing.into_iter().flatten().collect();
        (!differing.is_empty()).then(|| {
            format!(
                "{} was not the same in all slices (in brackets): {}",
                target.name,
                differing.join("; ")
            )
        })
    };
    parts[0].1.run.targets.iter().filter_map(of_target).collect()
}
