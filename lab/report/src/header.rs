//! The header above the figures: the run, the machine, the workload, and the notes that a reader needs first.

use larder_store::ByteSize;

use crate::columns::FACTS;
use crate::figures::{bytes, count, noun_after, seconds, significant};
use crate::model::{Environment, Run, Target};
use crate::verified::verified;

/// The scenario of typed targets and options.
pub(crate) const CUSTOM: &str = "custom";

/// The most important options of a workload, in this order; the others follow by name.
const FIRST: [&str; 12] = [
    "as",
    "operations",
    "ratio",
    "keys",
    "key-pattern",
    "trace-format",
    "key-size",
    "data-size",
    "threads",
    "connections",
    "pipeline",
    "requests",
];

/// Labels and texts, in this order. A label that repeats in a row belongs to both texts.
pub(crate) fn header(run: &Run) -> Vec<(&'static str, String)> {
    let answer = run.advised.iter().map(|advised| ("answer", advised.answer.clone()));
    let mut lines: Vec<(&'static str, String)> = answer.collect();
    lines.push(("ran", what_ran(run)));
    lines.extend(machines(run).into_iter().map(|machine| ("machine", machine)));
    let workload = workload(run);
    if !workload.is_empty() {
        lines.push(("workload", workload));
    }
    lines.extend(verified(run).as_clause().map(|values| ("values", values)));
    lines.extend(common_facts(run).map(|facts| ("targets", facts)));
    lines.extend(run.notes.iter().map(|note| ("note", note.clone())));
    lines
}

/// The machine; or each machine with its slices, where the slices of the run had several.
fn machines(run: &Run) -> Vec<String> {
    let mut machines: Vec<(String, Vec<String>)> = Vec::new();
    for part in &run.slices {
        // Each slice has its own load.
        let told = machine(&Environment { load: None, ..part.environment.clone() });
        let slice = part.slice.number.to_string();
        match machines.iter_mut().find(|(known, _)| *known == told) {
            Some((_, slices)) => slices.push(slice),
            None => machines.push((told, vec![slice])),
        }
    }
    if machines.len() < 2 {
        return vec![machine(&run.environment)];
    }
    let told = |(machine, slices): (String, Vec<String>)| {
        let noun = noun_after(slices.len(), "slice");
        format!("{machine} ({noun} {})", slices.join(", "))
    };
    machines.into_iter().map(told).collect()
}

/// The reason why no figure can be believed, if there is one.
pub(crate) fn warning(run: &Run) -> Option<&'static str> {
    (run.environment.build == "debug").then_some(
        "larder was built for debugging: these figures mean nothing; build it with --release",
    )
}

/// The fact of this name that all targets share, so that the tables need not repeat it.
pub(crate) fn told_of_all<'a>(run: &'a Run, fact: &str) -> Option<&'a str> {
    let of = |target: &'a Target| match fact {
        "durability" => target.durability.as_deref(),
        "reach" => target.reach.as_deref(),
        _ => None,
    };
    // Targets that did not run have no facts and do not count.
    let mut known = run.targets.iter().filter_map(of);
    let first = known.next()?;
    known.all(|other| other == first).then_some(first)
}

/// The settings that all targets share.
fn common_facts(run: &Run) -> Option<String> {
    let told = |fact: &&str| Some(format!("{fact} {}", told_of_all(run, fact)?));
    let facts: Vec<String> = FACTS.iter().filter_map(told).collect();
    let all = match run.targets.iter().filter(|target| target.reason.is_none()).count() {
        ran if ran == run.targets.len() && ran > 1 => "all with ",
        ran if ran < run.targets.len() && ran > 0 => "those that ran with ",
        _ => "",
    };
    (!facts.is_empty()).then(|| format!("{all}{}", facts.join(", ")))
}

/// The rounds behind the figures: `5 rounds`, `2 to 5 rounds`.
pub(crate) fn rounds(run: &Run) -> String {
    let (least, most) = n_rounds(run);
    if least == most {
        count(most, "round")
    } else {
        format!("{least} to {}", count(most, "round"))
    }
}

/// The least and the largest number of rounds behind a figure.
pub(crate) fn n_rounds(run: &Run) -> (usize, usize) {
    let measured = || run.cells.iter().map(|cell| cell.rounds as usize).filter(|n| *n > 0);
    (measured().min().unwrap_or(0), measured().max().unwrap_or(0))
}

fn what_ran(run: &Run) -> String {
    let what =
        if run.scenario == CUSTOM { command(run) } else { format!("scenario {}", run.scenario) };
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    let slice = match (&run.slice, run.slices.len()) {
        (Some(slice), _) => format!(" (slice {} of {})", slice.number, slice.of),
        (None, 0) => String::new(),
        (None, parts) => format!(" (put together of {})", count(parts, "slice")),
    };
    format!(
        "{what}; {}, {}{slice}, {}{interrupted}; larder {}, seed {}, {}",
        count(run.targets.len(), "target"),
        rounds(run),
        seconds(run.duration_s),
        run.larder,
        run.seed,
        to_the_second(&run.started)
    )
}

/// The command as typed, with only the name of its program.
pub(crate) fn command(run: &Run) -> String {
    let (program, rest) = run
        .argv
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (first.rsplit('/').next().unwrap_or(first), rest));
    let words = std::iter::once(program.to_owned()).chain(rest.iter().map(|word| quoted(word)));
    words.collect::<Vec<_>>().join(" ")
}

/// A word that a shell reads as one: in quotes where it has special characters.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A time stamp without the fraction of its second.
pub(crate) fn to_the_second(stamp: &str) -> String {
    let Some((seconds, rest)) = stamp.split_once('.') else { return stamp.to_owned() };
    format!("{seconds}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// A machine in a line.
pub fn machine(environment: &Environment) -> String {
    let hardware = [
        environment.cpu.clone(),
        Some(count(environment.cores as usize, "core")),
        memory(environment),
        environment.swap_bytes.map(|swap| match swap {
            0 => "no swap".to_owned(),
            swap => format!("{} of swap", bytes(swap)),
        }),
    ];
    let system = [
        environment.os.clone(),
        environment.kernel.as_ref().map(|kernel| format!("kernel {kernel}")),
        environment.governor.as_ref().map(|governor| format!("governor {governor}")),
        environment.load.map(|load| format!("load {}", significant(load, 2))),
    ];
    let parts = [join(hardware), join(system)];
    let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    known.join("; ")
}

/// The machine's memory, and its limit.
fn memory(environment: &Environment) -> Option<String> {
    let all = environment.memory_bytes.map(|memory| format!("{} of memory", bytes(memory)));
    match (all, environment.memory_limit_bytes.map(bytes)) {
        (Some(all), Some(limit)) => Some(format!("{all} (limited to {limit})")),
        (all, limit) => all.or(limit.map(|limit| format!("memory limited to {limit}"))),
    }
}

fn join(parts: [Option<String>; 4]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The options that are the same everywhere; swept options stand in the tables.
fn workload(run: &Run) -> String {
    // Coordinates have the names of fields, options have those of flags.
    let swept: Vec<String> = run.swept().into_iter().map(|name| name.replace('_', "-")).collect();
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut options: Vec<(&String, &String)> = run
        .workload
        .iter()
        .filter(|(name, value)| !value.is_empty() && !swept.contains(name))
        .collect();
    options.sort_by_key(|(name, _)| rank(name));
    let texts: Vec<String> = options
        .into_iter()
        .map(|(name, value)| format!("{name} {}", option(name, value)))
        .collect();
    texts.join(", ")
}

/// The value of an option; a bare number of bytes in its unit.
pub(crate) fn option(name: &str, value: &str) -> String {
    match value.parse() {
        Ok(bytes) if name.ends_with("-size") => ByteSize(bytes).to_string(),
        _ => value.to_owned(),
    }
}
