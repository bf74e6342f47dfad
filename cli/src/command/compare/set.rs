//! A set of scenarios: each runs as it would alone, and an index lies over their reports.

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use larder_bench::{
    Claimed, Member, NewResults, Outcome, Plan, Scenario, Set, SliceSpec, compare, estimate, fit,
    plan_of_set, refuse_too_large,
};
use larder_report::{Entry, Index, Run, index_formats, render_index};
use larder_workload::WorkloadSpec;

use super::super::masked_argv;
use super::super::results_folder::{claimed, replaced};
use super::describe::{describe, seconds, total};
use super::{Arguments, RESULTS, exit, folder, limited};
use crate::catalog::CATALOG;
use crate::command::gate::Gate;
use crate::command::report::Charts;
use crate::command::{print, refuse_other_formats};
use crate::exit::{Exit, Usage, error_line, one_line};
use crate::interrupt::Interrupts;
use crate::progress::{Progress, heading};
use crate::terminal;

/// Runs the scenarios of a set, one after the other. A scenario that cannot run leaves its reason, and the others run.
pub(super) fn run(arguments: &Arguments, set: &Set) -> anyhow::Result<Exit> {
    refuse(arguments, set)?;
    // All are read before the first one runs: nobody waits an hour to be told of a typing error.
    let mut members = set.runs(arguments.form, arguments.full)?;
    for Member { scenario, .. } in &mut members {
        *scenario = std::mem::take(scenario).with_workload(&arguments.workload);
    }
    let interrupts = Interrupts::listen()?;
    if arguments.dry_run {
        return dry_run(arguments, &members, &interrupts);
    }
    let folder = folder(arguments, &set.name)?;
    let names = members.iter().map(|member| &*member.name);
    let mut index = Index::of_scenarios(&set.name, &set.summary, names);
    let mut failed = false;
    // The folder is made first too, so that an unwritable folder does not cost an hour.
    let plan = plan_of_set(&set.name).into();
    let new = NewResults { plan: &plan, overwrite: arguments.overwrite };
    let _claimed = claimed(&folder, new, arguments.quiet, &interrupts)?;
    let folders = made(arguments, &folder);
    interrupts.made(folders.clone());
    let prepared = folders.iter().rev().try_for_each(|folder| larder_bench::prepare(folder));
    prepared.inspect_err(|_| interrupts.discard())?;
    let mut written = Ok(());
    for (at, Member { name, scenario }) in members.iter().enumerate() {
        if interrupts.stop.load(Ordering::Relaxed) {
            break;
        }
        heading(arguments.quiet, at + 1, members.len(), name);
        let entry = &mut index.scenarios[at];
        failed |= !member(arguments, scenario, entry, &folder, &interrupts);
        // After each scenario, so that there is an index whatever happens in the next.
        interrupts.writing();
        written = larder_bench::write_index(&folder, &index);
    }
    // The index is shown even where it cannot be kept.
    let shown = render_index(&index, arguments.format, terminal::style());
    print(shown.unwrap_or_default().as_bytes())?;
    written?;
    anstream::eprintln!("results: {}", folder.join("index.html").display());
    let runs: Vec<&Run> = index.runs().collect();
    let exit = exit(arguments, failed, &runs, &interrupts.stop);
    if exit == Exit::Done {
        Gate::tell_errors(&runs);
    }
    Ok(exit)
}

/// Refuses options of a single comparison that have no meaning for several.
fn refuse(arguments: &Arguments, set: &Set) -> anyhow::Result<()> {
    let name = &set.name;
    let wrong = |text: String| anyhow::anyhow!(Usage(text));
    if let Some(target) = arguments.targets.first() {
        return Err(wrong(format!(
            "{target}: `{name}` is a set, whose scenarios have targets of their own; leave the target out, or name \
             one scenario"
        )));
    }
    if let Some(SliceSpec { number, of }) = arguments.slice {
        return Err(wrong(format!(
            "--slice {number}/{of}: `{name}` is a set, whose scenarios have rounds of their own; name one scenario"
        )));
    }
    if arguments.gate.asserts() {
        return Err(wrong(format!(
            "--assert: `{name}` is a set of comparisons; name one scenario, or assert it of the results with larder report"
        )));
    }
    // The number of rounds and the seed apply to every scenario of a set.
    let repeated = WorkloadSpec {
        rounds: arguments.workload.rounds,
        until: arguments.workload.until,
        max_time: arguments.workload.max_time,
        seed: arguments.workload.seed,
        ..WorkloadSpec::default()
    };
    if *arguments.workload != repeated {
        return Err(wrong(format!(
            "`{name}` is a set and has no workload of its own: a set takes the flags --rounds, --until, --max-time \
             and --seed; for another flag name one scenario: {}",
            set.scenarios.join(", ")
        )));
    }
    let has = format!("`{name}` is a set, which has");
    refuse_other_formats(arguments.format, index_formats(), &has)
}

/// Runs one scenario, keeps its results, and notes the outcome. Returns whether all went well.
fn member(
    arguments: &Arguments,
    scenario: &Scenario,
    entry: &mut Entry,
    results: &Path,
    interrupts: &Interrupts,
) -> bool {
    let name = &entry.name;
    let folder = results.join(&entry.folder);
    let (outcome, claimed) = match measure(arguments, scenario, results, &folder, interrupts) {
        Ok(measured) => measured,
        Err(error) => {
            let reason = error_line(&error);
            anstream::eprintln!("larder: {name} cannot run: {reason}");
            entry.reason = Some(reason);
            return false;
        }
    };
    interrupts.writing();
    let written = larder_bench::write(&folder, &outcome);
    let written = written.map_err(anyhow::Error::from);
    // A later index of the folder finds no run there and needs the reason; the present index shows the run all the
    // same.
    let lost = |error| format!("it ran, but its results could not be kept: {}", error_line(error));
    entry.reason = written.as_ref().err().map(lost);
    let missing = written.as_ref().map_or(&[][..], Vec::as_slice);
    for missing in missing {
        anstream::eprintln!("larder: {name}: {}", one_line(missing));
    }
    let is_whole = missing.is_empty();
    let kept = written.and_then(|_| export(arguments, name, &outcome.run));
    if let Err(error) = &kept {
        anstream::eprintln!(
            "larder: {name} ran, but not all of its results could be kept: {}",
            error_line(error)
        );
    }
    let word = replaced(&claimed, arguments.quiet);
    if !word.is_empty() {
        anstream::eprintln!("{name}{word}");
    }
    entry.run = Some(outcome.run);
    kept.is_ok() && is_whole
}

/// The folders for all results, each before its parent.
fn made(arguments: &Arguments, results: &Path) -> Vec<PathBuf> {
    let exports = arguments.export_svg.iter().chain(&arguments.export_png).cloned();
    let parent = arguments.output.is_none().then(|| PathBuf::from(RESULTS));
    exports.chain([results.to_owned()]).chain(parent).collect()
}

/// Exports the charts of one scenario where requested, in folders of its name.
fn export(arguments: &Arguments, name: &str, run: &Run) -> anyhow::Result<()> {
    if let Some(folder) = &arguments.export_svg {
        Charts::of_run(run).export_svg(&folder.join(name))?;
    }
    if let Some(folder) = &arguments.export_png {
        Charts::of_run(run).export_png(&folder.join(name))?;
    }
    Ok(())
}

/// Runs one scenario.
fn measure(
    arguments: &Arguments,
    scenario: &Scenario,
    results: &Path,
    folder: &Path,
    interrupts: &Interrupts,
) -> anyhow::Result<(Outcome, Claimed)> {
    let scenario = &mut scenario.clone();
    let (_limit, permissions) = limited(arguments, scenario)?;
    refuse_too_large(scenario, false, &CATALOG, permissions)?;
    let plan = Plan::new(scenario, false, &CATALOG)?;
    let of_all = made(arguments, results);
    let identity = plan.identity();
    // The set has claimed its folder: earlier results of its scenarios there are its own.
    let new = NewResults { plan: &identity, overwrite: true };
    let claimed = claimed(folder, new, arguments.quiet, interrupts)?;
    interrupts.made(iter::once(folder.to_owned()).chain(of_all).collect());
    let progress = Progress::new(arguments.quiet);
    let stop = &interrupts.stop;
    let outcome = fit(plan, scenario, false, &CATALOG, permissions, &progress, stop)
        .and_then(|plan| compare(&plan, &CATALOG, masked_argv(), permissions, &progress, stop));
    drop(progress);
    let mut outcome = outcome.inspect_err(|_| interrupts.discard())?;
    outcome.run.plan = Some(identity.text);
    Ok((outcome, claimed))
}

/// Each plan with its costs, and the time of all plans.
fn dry_run(
    arguments: &Arguments,
    members: &[Member],
    interrupts: &Interrupts,
) -> anyhow::Result<Exit> {
    let (mut all, mut failed) = (Duration::ZERO, false);
    for (number, Member { name, scenario }) in (1..).zip(members) {
        heading(arguments.quiet, number, members.len(), name);
        let progress = Progress::new(arguments.quiet);
        let scenario = &mut scenario.clone();
        let described = limited(arguments, scenario).and_then(|(_limit, permissions)| {
            refuse_too_large(scenario, false, &CATALOG, permissions)?;
            let plan = Plan::new(scenario, false, &CATALOG)?;
            let stop = &interrupts.stop;
            let plan = fit(plan, scenario, false, &CATALOG, permissions, &progress, stop)?;
            let (estimates, few) = estimate(&plan, &CATALOG, permissions, &progress, stop)?;
            Ok((describe(&plan, &estimates, few.as_deref()), total(&estimates)))
        });
        drop(progress);
        let text = match described {
            Ok((text, time)) => {
                all += time;
                text
            }
            Err(error) => {
                failed = true;
                format!("plan: {name}\n  cannot run: {}\n", error_line(&error.into()))
            }
        };
        print(text.as_bytes())?;
        print(b"\n")?;
    }
    let number = members.len();
    print(format!("all {number} scenarios: {}\n", seconds(all)).as_bytes())?;
    Ok(exit(arguments, failed, &[], &interrupts.stop))
}
