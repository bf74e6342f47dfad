//! `larder serve` beside its peers, under the same load on the same processors, with an echo of the same bytes as
//! the floor.
//!
//! `just bench-serve`, or `cargo bench -p larder-bench --bench serve -- [--all | CELL...]`, where a cell is a part
//! of its name (`cells.rs`). The server has one processor and the client has another. All sides take turns, so that
//! each sees the same machine. Every answer is checked. At the end each goal of the server says whether it passes.
//!
//! `--brief` has one short turn of each side, to see that everything works, and judges nothing. `cargo test --bench
//! serve` does the same.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod answers;
mod cells;
mod client;
mod echo;
mod goals;
mod process;
mod sides;
mod traffic;
mod walk;

use std::iter;
use std::time::Duration;

use cells::Cell;
use client::Figures;
use goals::{Goal, Turns, goals};
use larder_analysis::statistics::{median, quantile};
use sides::{Program, Side, programs, serve_if_asked};
use traffic::Traffic;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The turns of each side, and their length.
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(1);

/// The keys of a brief run.
const BRIEF_KEYS: usize = 1000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(served) = serve_if_asked(&arguments) {
        return served;
    }
    let (flags, parts): (Vec<_>, Vec<_>) =
        arguments.into_iter().partition(|argument| argument.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    // `cargo bench` says that it measures, and `cargo test` does not.
    let is_brief = has("--brief") || !has("--bench");
    if let Some(unknown) =
        flags.iter().find(|it| !["--all", "--brief", "--bench"].contains(&&***it))
    {
        return Err(format!("{unknown} is unknown; there are --all and --brief").into());
    }
    let cells = Cell::asked_for(&parts, has("--all"));
    if cells.is_empty() {
        let all = Cell::all().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        return Err(format!("no cell has such a name; the cells are {all}").into());
    }
    let (turns, time) = if is_brief { (1, Duration::from_millis(100)) } else { (TURNS, TURN) };
    let (floor, servers, missing) = programs()?;
    for line in missing {
        println!("not measured: {line}");
    }
    println!("cells: {}; medians of turns (least to most): {turns} of {time:?}", cells.len());

    let processors = std::thread::available_parallelism()?.get();
    let bench = Bench { floor, servers, processors, turns, time, is_brief };
    let mut found = Vec::new();
    for cells in cells.chunk_by(Cell::has_servers_of) {
        found.extend(bench.measure(cells)?);
    }
    if is_brief {
        println!("\nin turns so short the figures mean nothing");
        return Ok(());
    }
    summary(&found);
    Ok(())
}

/// The measurement of cells that have the same servers.
struct Bench {
    floor: Program,
    servers: Vec<Program>,
    /// The number of this machine's processors.
    processors: usize,
    turns: usize,
    time: Duration,
    is_brief: bool,
}

impl Bench {
    fn measure(&self, cells: &[Cell]) -> Result<Vec<(Cell, Goal)>> {
        let Some(first) = cells.first() else { return Ok(Vec::new()) };
        let processors = processors(self.processors, first.threads);
        let processors = [&*processors.0, &*processors.1];
        let n_keys = if self.is_brief { first.keys().min(BRIEF_KEYS) } else { first.keys() };
        let traffic = Traffic::new(n_keys, first.value_bytes);
        let of_floor = Traffic::new(1, first.value_bytes);
        let mut servers = Vec::new();
        for program in &self.servers {
            match Side::start(program, first, &traffic, processors) {
                Ok(side) => servers.push(side),
                Err(error) if program.kind.is_peer() => println!("not measured: {error}"),
                Err(error) => return Err(error),
            }
        }
        let mut found = Vec::new();
        for cell in cells {
            let floor = Side::start(&self.floor, cell, &of_floor, processors)?;
            println!("\n{cell}");
            let all = self.turns(cell, iter::once(&floor).chain(&servers).collect())?;
            report(&all);
            let goals = goals(cell, &all);
            if !self.is_brief {
                goals.iter().for_each(goal);
            }
            found.extend(goals.into_iter().map(|goal| (*cell, goal)));
        }
        Ok(found)
    }

    /// The turns of all sides. A peer that fails is named, and has no further turns.
    fn turns(&self, cell: &Cell, mut sides: Vec<&Side<'_>>) -> Result<Vec<Turns>> {
        let mut all: Vec<Turns> = sides.iter().map(|side| (side.kind, Vec::new())).collect();
        for _ in 0..self.turns {
            let mut failed = Vec::new();
            for side in &sides {
                match side.run(*cell, self.time) {
                    Ok(figures) => {
                        for (_, turns) in all.iter_mut().filter(|(kind, _)| *kind == side.kind) {
                            turns.push(figures);
                        }
                    }
                    Err(error) if side.kind.is_peer() => {
                        println!("  not measured: {error}");
                        failed.push(side.kind);
                    }
                    Err(error) => return Err(error),
                }
            }
            sides.retain(|side| !failed.contains(&side.kind));
            all.retain(|(kind, _)| !failed.contains(kind));
            // No side is always the first of a round.
            if !sides.is_empty() {
                sides.rotate_left(1);
            }
        }
        Ok(all)
    }
}

/// The processors of servers with this many threads, and of the client, on a machine with `n` of them.
fn processors(n: usize, threads: usize) -> (Vec<usize>, Vec<usize>) {
    if n > threads {
        return ((1..=threads).collect(), vec![0]);
    }
    println!("\nservers with {threads} threads and the client share the {n} processors");
    ((0..n).collect(), (0..n).collect())
}

/// Prints the figures of all sides.
fn report(all: &[Turns]) {
    println!(
        "  {:<18} {:>26} {:>24} {:>9} {:>24}",
        "", "thousand ops/s", "server µs/op", "client", "p50 / p99 / p99.9 µs"
    );
    for (kind, turns) in all {
        let of = |of: fn(&Figures) -> f64| turns.iter().map(of).collect::<Vec<f64>>();
        let rates = of(|figures| figures.ops_per_s / 1e3);
        let cpu = of(|figures| figures.cpu_ns / 1e3);
        let client = middle(&of(|figures| figures.client_cpu_ns / 1e3));
        let latency = [
            middle(&of(|figures| figures.latency_ns[0] / 1e3)),
            middle(&of(|figures| figures.latency_ns[1] / 1e3)),
            middle(&of(|figures| figures.latency_ns[2] / 1e3)),
        ];
        let n_misses: usize = turns.iter().map(|figures| figures.n_misses).sum();
        let misses = if n_misses > 0 { format!("   {n_misses} misses") } else { String::new() };
        println!(
            "  {:<18} {:>26} {:>24} {client:>9.2} {:>24}{misses}",
            kind.name(),
            spread(&rates, 1),
            spread(&cpu, 2),
            latency.map(|it| format!("{it:.0}")).join(" / "),
        );
    }
}

/// Prints a goal.
fn goal(goal: &Goal) {
    let verdict = if goal.passes() { "pass" } else { "falls short" };
    let ratios = format!("{:.2} ({:.2} to {:.2})", goal.median(), goal.at(0.0), goal.at(1.0));
    println!("  {:<52} {ratios:>22} {:>14}   {verdict}", goal.what, goal.asked());
}

/// Prints how many goals pass, and those that fall short.
fn summary(found: &[(Cell, Goal)]) {
    let short: Vec<_> = found.iter().filter(|(_, goal)| !goal.passes()).collect();
    println!("\n{} of {} goals pass", found.len() - short.len(), found.len());
    for (cell, goal) in short {
        let found = format!("{:.2}, {}", goal.median(), goal.asked());
        println!("  falls short: {cell:<20} {:<52} {found}", goal.what);
    }
}

fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

fn spread(values: &[f64], digits: usize) -> String {
    let all = |q| quantile(values, q).unwrap_or(f64::NAN);
    let (least, most) = (all(0.0), all(1.0));
    format!("{:.digits$} ({least:.digits$} to {most:.digits$})", middle(values))
}
