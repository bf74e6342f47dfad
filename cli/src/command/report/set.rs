//! The results of a set of scenarios, and an index over separate runs.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use larder_report::{Entry, Error, Format, Index, Run, index_formats, render_index};

use super::{Found, Results, read, write};
use crate::command::{print, refuse_other_formats};
use crate::exit::Usage;
use crate::terminal;

/// The file in a folder that links to several runs.
pub(super) const INDEX: &str = "index.json";

/// A set and the folder that it was read from.
pub(super) struct SetResults {
    folder: PathBuf,
    index: Index,
}

impl SetResults {
    /// Reads an index and the runs that it lists.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(INDEX);
        let shown = file.display();
        let text = fs::read_to_string(&file).with_context(|| format!("reading {shown}"))?;
        let mut index = Index::from_json(&text).map_err(|error| match error {
            Error::NotAnIndex { .. } => anyhow!(Usage(format!("{shown}: {error}"))),
            error => anyhow!(error).context(shown.to_string()),
        })?;
        for entry in index.scenarios.iter_mut().filter(|entry| entry.reason.is_none()) {
            entry.run = Some(read(&folder.join(&entry.folder))?.run);
        }
        Ok(Self { folder: folder.to_owned(), index })
    }

    /// Prints the index.
    pub(super) fn print(&self, format: Format) -> anyhow::Result<()> {
        let Some(text) = render_index(&self.index, format, terminal::style()) else {
            let has = format!("{} holds a set, which has", self.folder.display());
            return refuse_other_formats(format, index_formats(), &has);
        };
        print(text.as_bytes())
    }

    /// Writes the reports of each run, and the index over them.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        for entry in &self.index.scenarios {
            if let Some(run) = &entry.run {
                let folder = self.folder.join(&entry.folder);
                write(&Results { folder, run: run.clone() })?;
            }
        }
        write_index(&self.folder, &self.index)
    }

    /// The runs.
    pub(super) fn runs(&self) -> Vec<&Run> {
        self.index.runs().collect()
    }

    /// The runs, each with its folder.
    pub(super) fn into_runs(self) -> Vec<Results> {
        let folder = self.folder;
        let entries = self.index.scenarios.into_iter();
        let of_entry = |folder: &Path, entry: Entry| {
            Some(Results { folder: folder.join(entry.folder), run: entry.run? })
        };
        entries.filter_map(|entry| of_entry(&folder, entry)).collect()
    }
}

/// Whether this is a file of the index in `folder`: a shell pattern for the whole folder names it as well.
pub(super) fn is_of_index(folder: &Path, path: &Path) -> bool {
    let is_named = |name: &str| path.file_name().is_some_and(|found| found == name);
    let parent =
        path.parent().map(|parent| if parent == Path::new("") { Path::new(".") } else { parent });
    let is_there = |parent: &Path| Some(parent.canonicalize().ok()? == folder.canonicalize().ok()?);
    larder_bench::index_names().any(is_named) && parent.and_then(is_there) == Some(true)
}

/// Writes an index over all these results into a folder of its own.
pub(super) fn index(folder: &Path, found: &[Found]) -> anyhow::Result<()> {
    larder_bench::prepare(folder)?;
    let here = folder.canonicalize()?;
    let name = here.file_name().map_or("index".into(), |name| name.to_string_lossy());
    let mut index = Index::of_scenarios(&name, "", []);
    let from_here = |there: PathBuf| relative(&there, &here).to_string_lossy().into_owned();
    for found in found {
        match found {
            Found::Run(results) => {
                index.push(&from_here(results.folder.canonicalize()?), results.run.clone());
            }
            Found::Set(set) => {
                let of_set = set.folder.canonicalize()?;
                for Entry { name, folder, reason, run } in &set.index.scenarios {
                    let folder = from_here(of_set.join(folder));
                    match run {
                        Some(run) => index.push(&folder, run.clone()),
                        None => index.push_missing(name, &folder, reason.clone()),
                    }
                }
            }
        }
    }
    write_index(folder, &index)
}

fn write_index(folder: &Path, index: &Index) -> anyhow::Result<()> {
    larder_bench::write_index(folder, index)?;
    anstream::eprintln!("index: {}", folder.join("index.html").display());
    Ok(())
}

/// The path from one folder to another; both are absolute.
fn relative(there: &Path, here: &Path) -> PathBuf {
    let common = there.components().zip(here.components()).take_while(|(a, b)| a == b).count();
    let up = here.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(there.components().skip(common)).collect();
    if path == Path::new("") { PathBuf::from(".") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_reached_from_another() {
        for (there, here, expected) in [
            ("/a/b", "/a", "b"),
            ("/a", "/a/b", ".."),
            ("/a/b", "/a/c/d", "../../b"),
            ("/a", "/a", "."),
        ] {
            assert_eq!(relative(Path::new(there), Path::new(here)), Path::new(expected));
        }
    }
}
