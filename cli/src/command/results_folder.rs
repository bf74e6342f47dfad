//! The folder that `-o` names, for every command that leaves results: the earlier results there are replaced where they
//! are of the same plan or trace, and otherwise need `--overwrite`.

use std::path::Path;

use larder_bench::{Claimed, NewResults, claim};

use crate::interrupt::Interrupts;

/// Takes the folder of the results, and reports the earlier result that it replaces.
pub(super) fn claimed(
    folder: &Path,
    new: NewResults<'_>,
    quiet: bool,
    interrupts: &Interrupts,
) -> anyhow::Result<Claimed> {
    let claimed = claim(folder, new).inspect_err(|error| {
        // A folder with files of other origin stays as it is.
        if !error.is_usage() {
            interrupts.made(vec![folder.to_owned()]);
            interrupts.discard();
        }
    })?;
    if !quiet {
        tell_replaced(folder, &claimed);
    }
    Ok(claimed)
}

/// Reports the earlier result that gives way to the new one.
pub(super) fn tell_replaced(folder: &Path, claimed: &Claimed) {
    if let Some(earlier) = &claimed.earlier {
        anstream::eprintln!("{}: replaces the result of {}", folder.display(), began(earlier));
    }
}

/// The note about a replaced result, for quiet runs without the earlier message.
pub(super) fn replaced(claimed: &Claimed, quiet: bool) -> String {
    let earlier = claimed.earlier.as_ref().filter(|_| quiet);
    let word = |earlier: &String| format!(" (replaced the result of {})", began(earlier));
    earlier.map(word).unwrap_or_default()
}

/// The start of a run, in local time; without the date if that is today.
fn began(started: &str) -> String {
    let Ok(started) = started.parse::<jiff::Timestamp>() else { return started.to_owned() };
    let now = jiff::Zoned::now();
    let started = started.to_zoned(now.time_zone().clone());
    let is_today = started.date() == now.date();
    started.strftime(if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
}
