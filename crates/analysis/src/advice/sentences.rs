//! The words of an advice.

use larder_report::figures::{bytes, count, list, nanoseconds, percent, seconds, significant};
use larder_report::{CurvePolicy, HitRatioAt, LIKE_HITS, Run, Severity};

use super::choice::{Choice, LIKE_TIMES, choose};
use super::{Candidate, Model, Wishes};

/// The places of entries, from the nearest.
const REACHES: [(&str, &str); 3] =
    [("process", "one process"), ("host", "all processes of a host"), ("network", "several hosts")];

/// The halvings by which a cost is found, to far below a percent.
const STEPS: u32 = 20;

/// The five parts of an advice.
pub(super) fn of(
    run: &Run,
    candidates: &[&Candidate],
    choice: Choice<'_>,
    (wishes, model): (&Wishes, &Model),
) -> Vec<String> {
    let (mut which, chosen) = match choice {
        Choice::Take(chosen) => (taken(chosen), chosen),
        Choice::Nearest(nearest) => (none(nearest, wishes), nearest),
        Choice::NoFigures => {
            let why = without_figure(run, candidates);
            return vec![format!("No candidate has a figure. {}", why.trim_end())];
        }
    };
    which.extend(model.sample.map(of_all_keys));
    vec![
        which,
        sizes(chosen, candidates, &model.curve),
        changes((chosen, matches!(choice, Choice::Take(_))), candidates, wishes),
        sureness(run, chosen, candidates),
        not_tried(run, candidates, model),
    ]
}

/// That a sample of the keys needs only its share of the room.
fn of_all_keys(sample: f64) -> String {
    format!(
        " The recording has {} of the keys, and all of them need {} times the room.",
        percent(sample),
        significant(1.0 / sample, 3)
    )
}

/// Which cache, how large, and what it does.
fn taken(chosen: &Candidate) -> String {
    format!("Take {} with {}: {}.", chosen.name, bytes(chosen.capacity_bytes), does(chosen))
}

/// That no candidate fits, and what the nearest does.
fn none(nearest: &Candidate, wishes: &Wishes) -> String {
    let mut asked = Vec::new();
    asked.extend(wishes.memory_bytes.map(|most| format!("at most {}", bytes(most))));
    asked.extend(wishes.p99_ns.map(|most| format!("a p99 of at most {}", nanoseconds(most))));
    asked.extend(wishes.min_hit_ratio.map(|least| format!("{} of hits", percent(least))));
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let (name, size) = (&nearest.name, bytes(nearest.capacity_bytes));
    format!(
        "No measured candidate has {}. The nearest is {name} with {size}: {}.",
        list(&asked),
        does(nearest)
    )
}

/// The figures of a candidate, with their intervals.
fn does(candidate: &Candidate) -> String {
    let [least, most] = candidate.hit_ratio_of_rounds;
    let of_rounds = if candidate.rounds > 1 {
        format!("{} to {} over the rounds", percent(least), percent(most))
    } else {
        "in one round".to_owned()
    };
    let mut parts =
        vec![format!("{} of the reads hit ({of_rounds})", percent(candidate.hit_ratio))];
    if let Some(p99) = candidate.p99_ns {
        let interval = candidate.p99_ns_ci95.map_or_else(String::new, between);
        parts.push(format!("99 % of the hits take at most {}{interval}", nanoseconds(p99)));
    }
    let (time, interval, what) = match candidate.with_misses_ns {
        Some(time) => (time, candidate.with_misses_ns_ci95, " with the cost of its misses"),
        None => (candidate.request_ns, candidate.request_ns_ci95, ""),
    };
    let interval = interval.map_or_else(String::new, between);
    parts.push(format!("a request takes {}{interval} on average{what}", nanoseconds(time)));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    list(&parts)
}

fn between([low, high]: [f64; 2]) -> String {
    format!(" ({} to {})", nanoseconds(low), nanoseconds(high))
}

/// What each doubling buys: by the target's own cells, and beyond them by the model.
fn sizes(chosen: &Candidate, candidates: &[&Candidate], curve: &[HitRatioAt]) -> String {
    let own: Vec<&&Candidate> =
        candidates.iter().filter(|other| other.target == chosen.target).collect();
    let steps: Vec<String> = own
        .windows(2)
        .map(|pair| {
            format!(
                "{} has {} than {}",
                bytes(pair[1].capacity_bytes),
                points(pair[1].hit_ratio - pair[0].hit_ratio),
                bytes(pair[0].capacity_bytes)
            )
        })
        .collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let measured = match &steps[..] {
        [] => format!("{} was measured at one size only.", chosen.name),
        steps => format!("Of {} {}.", chosen.name, list(steps)),
    };
    let largest = own.last().map_or(0, |candidate| candidate.capacity_bytes);
    let beyond = beyond(largest, curve).unwrap_or_else(|| match own[..] {
        [.., before, last] if last.hit_ratio > before.hit_ratio + LIKE_HITS => {
            " More room than that was not measured.".to_owned()
        }
        _ => String::new(),
    });
    format!("{measured}{beyond}")
}

/// What more room than the largest size has by the model; `None` where the model ends there.
fn beyond(largest: u64, curve: &[HitRatioAt]) -> Option<String> {
    let at = |capacity: u64| curve.iter().rev().find(|point| point.capacity <= capacity);
    let hits = |point: &HitRatioAt| point.of(CurvePolicy::Lru).map(|ratio| ratio.hit_ratio);
    let from = at(largest)?;
    let with = |factor: u64| {
        let to = at(largest.saturating_mul(factor))?;
        (to.capacity > from.capacity).then_some(hits(to)?)
    };
    let (here, double) = (percent(hits(from)?), percent(with(2)?));
    let eightfold =
        with(8).map_or_else(String::new, |hits| format!(" and {} with eight times", percent(hits)));
    Some(format!(
        " Beyond that, a simulated LRU on the same requests hits {here} with that room, {double} with twice the room{eightfold}."
    ))
}

/// What would change the answer: other processes that share the entries, the next best cache, another cost of a miss.
fn changes(
    (chosen, fits): (&Candidate, bool),
    candidates: &[&Candidate],
    wishes: &Wishes,
) -> String {
    let mut said = Vec::new();
    let place = REACHES.iter().position(|(name, _)| *name == chosen.reach).unwrap_or(0);
    for (reach, who) in &REACHES[place + 1..] {
        if let Some(best) = best_of(candidates, wishes, |other| other.reach == *reach) {
            let (name, size, does) = (&best.name, bytes(best.capacity_bytes), does(best));
            said.push(format!("If {who} must share the entries, take {name} with {size}: {does}."));
        }
    }
    said.extend(next_best(chosen, candidates, wishes));
    said.extend(other_cost(chosen, candidates, wishes));
    if said.is_empty() {
        said.push(if fits {
            "Nothing that was measured would change the answer.".to_owned()
        } else {
            "Only other wishes would change the answer.".to_owned()
        });
    }
    said.join(" ")
}

/// The candidate that the same wishes choose among some.
fn best_of<'a>(
    candidates: &[&'a Candidate],
    wishes: &Wishes,
    is_meant: impl Fn(&Candidate) -> bool,
) -> Option<&'a Candidate> {
    let meant: Vec<&Candidate> =
        candidates.iter().copied().filter(|candidate| is_meant(candidate)).collect();
    match choose(&meant, wishes) {
        Choice::Take(best) => Some(best),
        Choice::Nearest(_) | Choice::NoFigures => None,
    }
}

/// The best of the other targets with the same reach, and how far it is away.
fn next_best(chosen: &Candidate, candidates: &[&Candidate], wishes: &Wishes) -> Option<String> {
    let is_other = |other: &Candidate| other.target != chosen.target && other.reach == chosen.reach;
    let next = best_of(candidates, wishes, is_other)?;
    let (name, size) = (&next.name, bytes(next.capacity_bytes));
    let hits = next.hit_ratio - chosen.hit_ratio;
    let times = next.with_misses_ns.unwrap_or(next.request_ns)
        / chosen.with_misses_ns.unwrap_or(chosen.request_ns);
    let is_alike = hits.abs() <= LIKE_HITS
        && (times - 1.0).abs() <= LIKE_TIMES
        && next.capacity_bytes == chosen.capacity_bytes;
    Some(if is_alike {
        format!("{name} with {size} is as good.")
    } else {
        format!(
            "The next is {name} with {size}: it has {} of hits, and a request takes {times:.2} times as long.",
            points(hits)
        )
    })
}

/// The cost of a miss below which less room of the same target would do. It is searched, because the choice among sizes
/// depends on all of them.
fn other_cost(chosen: &Candidate, candidates: &[&Candidate], wishes: &Wishes) -> Option<String> {
    let own: Vec<&Candidate> =
        candidates.iter().copied().filter(|other| other.target == chosen.target).collect();
    let size = |cost: f64| {
        let priced: Vec<Candidate> = own.iter().map(|it| it.with_cost(Some(cost))).collect();
        let priced: Vec<&Candidate> = priced.iter().collect();
        match choose(&priced, &Wishes { cost_of_miss_ns: Some(cost), ..*wishes }) {
            Choice::Take(best) => Some(best.capacity_bytes),
            Choice::Nearest(_) | Choice::NoFigures => None,
        }
    };
    // Costs between which the choice changes, on a scale of powers of two.
    let (mut less, mut more) = (0.0, wishes.cost_of_miss_ns?.max(1.0).log2());
    if size(f64::exp2(less))? == chosen.capacity_bytes {
        return None;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(less, more);
        if size(f64::exp2(middle))? < chosen.capacity_bytes {
            less = middle;
        } else {
            more = middle;
        }
    }
    let (other, cost) = (bytes(size(f64::exp2(less))?), nanoseconds(f64::exp2(less)));
    Some(format!("Were a miss to cost less than {cost}, {other} of {} would do.", chosen.name))
}

/// How sure the answer is.
fn sureness(run: &Run, chosen: &Candidate, candidates: &[&Candidate]) -> String {
    let requests = run
        .cells
        .iter()
        .filter(|cell| cell.target == chosen.target && cell.reason.is_none())
        .map(|cell| cell.counts.ops / u64::from(cell.rounds.max(1)))
        .max()
        .unwrap_or(0);
    let errors = run.checks.iter().filter(|check| check.severity == Severity::Error).count();
    let mut warnings: Vec<&str> = run
        .checks
        .iter()
        .filter(|check| check.severity == Severity::Warn)
        .map(|check| check.id.as_str())
        .collect();
    warnings.sort_unstable();
    warnings.dedup();
    let doubts = match (errors, &warnings[..]) {
        (0, []) => "no check found a doubt".to_owned(),
        (0, warnings) => format!("the report tells the doubts of {}", list(warnings)),
        (errors, _) => format!("{} found figures that are no results", count(errors, "check")),
    };
    let rounds = candidates.iter().map(|candidate| candidate.rounds).max().unwrap_or(0);
    let n_longest = candidates.iter().filter(|candidate| candidate.rounds == rounds).count();
    let mut targets: Vec<&str> = candidates.iter().map(|it| it.target.as_str()).collect();
    targets.dedup();
    let all =
        format!("{} of {}", count(candidates.len(), "size"), count(targets.len(), "candidate"));
    let of = if n_longest == candidates.len() {
        format!(
            "{} of {requests} requests of the trace at each of {all}",
            count(rounds as usize, "round")
        )
    } else {
        format!(
            "one round of {requests} requests of the trace at each of {all}, and from {} at {n_longest} of them that may have won",
            count(rounds as usize, "round")
        )
    };
    format!("The figures come from {of}, in {}; {doubts}.", seconds(run.duration_s))
}

/// What was left out: targets without figures, and what no replay of a trace shows.
fn not_tried(run: &Run, candidates: &[&Candidate], model: &Model) -> String {
    let without = without_figure(run, candidates);
    let ttls = if model.has_ttls { "the TTLs of the trace, " } else { "" };
    let threads = run.cells.iter().map(|cell| cell.workers).max().unwrap_or(1) as usize;
    let notes = match run.notes.len() {
        0 => String::new(),
        n => format!(" The report has {} on the replay.", count(n, "note")),
    };
    format!(
        "{without}Not tried: {ttls}other sizes, other settings of the caches, more than {}, a network between, and \
         another hour of your traffic.{notes}",
        count(threads, "thread")
    )
}

/// The targets without a figure, each with its reason.
fn without_figure(run: &Run, candidates: &[&Candidate]) -> String {
    let has_figures = |url: &str| candidates.iter().any(|candidate| candidate.target == url);
    let missing: Vec<String> = run
        .targets
        .iter()
        .filter(|target| !has_figures(&target.url))
        .map(|target| {
            let mut cells = run.cells.iter().filter(|cell| cell.target == target.url);
            let reason = target.reason.clone().or_else(|| cells.find_map(|it| it.reason.clone()));
            format!("{} ({})", target.name, reason.unwrap_or_else(|| "no figure".into()))
        })
        .collect();
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    match &missing[..] {
        [] => String::new(),
        missing => format!("Without a figure: {}. ", list(missing)),
    }
}

/// A difference of hit ratios: `3.1 points more`.
fn points(difference: f64) -> String {
    let points = difference * 100.0;
    match points {
        points if points.abs() < 0.05 => "no more points".to_owned(),
        points if points > 0.0 => format!("{points:.1} points more"),
        points => format!("{:.1} points fewer", -points),
    }
}
