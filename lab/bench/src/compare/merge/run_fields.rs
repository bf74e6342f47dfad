//! The rest of a slice's record, besides its cells.

use larder_report::{Floor, Run, Slice};

use super::{Sliced, slice_match, targets};
use larder_analysis::alike::{are_alike, circumstances};

/// The notes of all slices, each once, and the notes on the merging.
pub(super) fn notes(parts: &[(Slice, Sliced)]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|(_, sliced)| notes_of(&sliced.run)) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes.extend(slice_match::notes(parts));
    notes.extend(targets::notes(parts));
    if parts.iter().any(|(_, sliced)| !sliced.run.usage.is_empty()) {
        let note = "only the slices show the use of client and servers from second to second: each slice had a clock \
                    of its own";
        notes.push(note.into());
    }
    notes
}

/// The notes of a slice, with the sentence on the end of its rounds: in the whole, each slice has its own.
fn notes_of(run: &Run) -> impl Iterator<Item = &String> {
    run.notes.iter().chain(&run.rounds_ended)
}

/// The floors. For one kind of machine, the floor is the least of its slices, because other work of a machine only
/// adds time. For several kinds the floor is the mean over the slices, as the figures are.
pub(super) fn floors(parts: &[(Slice, Sliced)]) -> Vec<Floor> {
    let runs = || parts.iter().map(|(_, sliced)| &sliced.run);
    let all: Vec<&Floor> = runs().flat_map(|run| &run.floors).collect();
    let mut floors: Vec<Floor> = Vec::new();
    for floor in all {
        if floors.iter().any(|known| is_same(known, floor)) {
            continue;
        }
        let of_each = |of: fn(&Floor) -> Option<f64>| {
            let least = runs().map(|run| {
                let alike = runs().filter(|other| is_alike(run, other));
                let there = alike.flat_map(|run| &run.floors).filter(|other| is_same(other, floor));
                there.filter_map(of).min_by(f64::total_cmp)
            });
            mean(&least.flatten().collect::<Vec<_>>())
        };
        floors.push(Floor {
            ns_per_op: of_each(|floor| Some(floor.ns_per_op)).unwrap_or(floor.ns_per_op),
            cpu_ns_per_op: of_each(|floor| floor.cpu_ns_per_op),
            rss_bytes: runs()
                .flat_map(|run| &run.floors)
                .filter(|other| is_same(other, floor))
                .filter_map(|other| other.rss_bytes)
                .max(),
            ..floor.clone()
        });
    }
    floors
}

/// Whether two floors are of the same work.
fn is_same(a: &Floor, b: &Floor) -> bool {
    (&a.point, a.operation, &a.language) == (&b.point, b.operation, &b.language)
}

/// Whether two slices ran on machines of one kind.
fn is_alike(a: &Run, b: &Run) -> bool {
    are_alike(&[circumstances(a), circumstances(b)].concat())
}

/// The mean; of equal values it is exactly that value.
fn mean(values: &[f64]) -> Option<f64> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let above: f64 = values.iter().map(|value| value - least).sum();
    #[expect(clippy::cast_precision_loss, reason = "a number of slices")]
    Some(least + above / values.len() as f64)
}

/// The arguments of the whole run: those of a slice without `--slice` and `--output`.
pub(super) fn argv(of_slice: &[String]) -> Vec<String> {
    let own = ["--slice", "--output", "-o"];
    let mut whole = Vec::new();
    let mut words = of_slice.iter();
    while let Some(word) = words.next() {
        if own.contains(&word.as_str()) {
            words.next();
        } else if !own.iter().any(|flag| {
            word.strip_prefix(flag).is_some_and(|value| value.starts_with('=') || *flag == "-o")
        }) {
            whole.push(word.clone());
        }
    }
    whole
}
