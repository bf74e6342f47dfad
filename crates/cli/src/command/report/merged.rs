//! Slices of one plan, merged.

use std::path::Path;

use anyhow::bail;
use larder_bench::{Sliced, claim, merge};

use super::{Found, Results};
use crate::exit::Usage;

/// Merges slices, and writes the whole run to a folder of its own, or keeps it only in memory without a folder.
pub(super) fn merged(found: Vec<Found>, folder: Option<&Path>) -> anyhow::Result<Found> {
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
    let outcome = merge(slices.collect())?;
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
        let _claimed = claim(folder)?;
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
