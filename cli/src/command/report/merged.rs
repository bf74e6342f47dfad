//! Slices of one plan, merged.

use std::path::Path;

use anyhow::bail;
use larder_bench::{NewResults, Sliced, claim, merge};

use super::{Found, Results};
use crate::exit::Usage;

/// Merges slices, and writes the whole run to a folder of its own, or keeps it only in memory without a folder.
/// Results of another plan stay there unless they are to be overwritten.
pub(super) fn merged(
    found: Vec<Found>,
    folder: Option<&Path>,
    overwrite: bool,
) -> anyhow::Result<Found> {
    let slices: Vec<Results> = found.into_iter().flat_map(Found::into_runs).collect();
    let shown = slices.first().map(|slice| slice.folder.clone()).unwrap_or_default();
    if let Some(folder) = folder {
        let is_here = |slice: &&Results| {
            folder
                .canonicalize()
                .is_ok_and(|here| slice.folder.canonicalize().is_ok_and(|it| it == here))
        };
        if let Some(slice) = slices.iter().find(is_here) {
            let folder = slice.folder.display();
            bail!(Usage(format!(
                "--merge {folder}: the folder holds a slice; name another folder"
            )));
        }
    }
    let slices = slices.into_iter().map(|Results { folder, run }| Sliced { folder, run });
    let mut outcome = merge(slices.collect())?;
    let plan = outcome.run.slices.first().map(|part| format!("slices of {}", part.slice.plan));
    outcome.run.plan.clone_from(&plan);
    let parts = &outcome.run.slices;
    if let Some(of) = parts.first().map(|part| part.slice.of)
        && parts.len() < of as usize
    {
        anstream::eprintln!(
            "larder: {} of {of} slices are here; a note of the run names the missing slices",
            parts.len()
        );
    }
    if let Some(folder) = folder {
        let plan = plan.unwrap_or_default().into();
        let _claimed = claim(folder, NewResults { plan: &plan, overwrite })?;
        // All that is missing in one line: the slices stay, so that the same command can be repeated.
        let missing = larder_bench::write(folder, &outcome)?;
        if !missing.is_empty() {
            bail!("{}", missing.join("; "));
        }
        anstream::eprintln!("results: {}", folder.display());
    }
    let folder = folder.map_or(shown, Path::to_owned);
    Ok(Found::Run(Box::new(Results { folder, run: outcome.run })))
}
