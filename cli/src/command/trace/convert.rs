//! `larder trace convert`: rows go from the reader of one format to the writer of another, one after the other.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use larder_store::{agreeing, count};
use larder_workload::Count;
use larder_workload::trace::{
    Formats, Key, Recognised, Row, Sink, TraceError, TraceSource, TraceWriter, read_rows,
};

use super::super::atomic_file;
use super::{refuse_trace, tell_format};
use crate::exit::{Exit, Usage};

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The trace, compressed or not; `FILE?format=NAME` where its format cannot be recognised;
    /// `FILE?columns=key:NAME,size:NAME` where its columns have other names; `FILE?time=us` where its times have another unit
    /// than the one that is told; `NAME-*.parquet` for several files in the order of their names; `builtin:web12` for one
    /// that is built in
    from: TraceSource,
    /// The file, which appears once it is whole: `NAME.parquet`, `NAME.csv`, `NAME.oracleGeneral`, `NAME.twitter` or
    /// `FILE?format=NAME`
    to: TraceSource,
    /// Convert the first N operations only
    #[arg(long, value_name = "N")]
    requests: Option<Count>,
    /// Write hashes in place of keys in clear; their salt is drawn anew and forgotten
    #[arg(long)]
    hash_keys: bool,
    /// Replace a file that has the new one's name
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn run(arguments: &Convert) -> anyhow::Result<Exit> {
    let path = &arguments.to.path;
    let format = arguments.to.format_to_write().map_err(Usage)?;
    refuse_trace(&arguments.from, path, &path.display().to_string())?;
    if !arguments.overwrite && path.exists() {
        let shown = path.display();
        return Err(Usage(format!(
            "{shown} exists; take another name, or replace it by --overwrite"
        ))
        .into());
    }
    let (written, about) = atomic_file::write_for_long(path, permissions(&arguments.from), |out| {
        // The folder of the new file has room for what is as large.
        let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let scratch = beside.unwrap_or(Path::new("."));
        let mut sink = Conversion {
            writer: TraceWriter::with_scratch(format, out, scratch)?,
            left: arguments.requests.map_or(u64::MAX, |Count(requests)| requests.into()),
            salt: arguments.hash_keys.then(RandomState::new),
            formats: Formats::default(),
        };
        let about = read_rows(&arguments.from, &mut sink)?;
        sink.formats.add_notes(&about);
        let (written, formats) = (sink.writer.finish(&about)?, sink.formats);
        if written.rows == 0 {
            bail!(Usage(format!(
                "trace {}: has no operation that {format} has a place for",
                arguments.from
            )));
        }
        tell_format(&arguments.from, &formats);
        Ok((written, about))
    })
    .map_err(without_new_file)?;
    let (rows, are) = (written.rows, agreeing(written.rows, "is", "are"));
    anstream::eprintln!("larder: {} {are} in {}", count(rows, "operation"), path.display());
    if !written.left_out.is_empty() {
        anstream::eprintln!(
            "larder: left out, because {format} has no place for it: {}",
            written.left_out.join("; ")
        );
    }
    if about.torn_bytes > 0 {
        anstream::eprintln!(
            "larder: {} ends with {} of a torn record, which are left out",
            arguments.from,
            count(about.torn_bytes, "byte")
        );
    }
    Ok(Exit::Done)
}

/// The permissions of the new file: whoever may not read the trace may not read the same in another format.
fn permissions(from: &TraceSource) -> u32 {
    let paths = from.paths();
    let modes =
        paths.iter().filter_map(|path| fs::metadata(path).ok()?.permissions().mode().into());
    modes.fold(atomic_file::FOR_ALL, |mode, of_file| mode & of_file) | atomic_file::FOR_OWNER
}

/// A fault of the trace that is read, without the name of the file that is written.
fn without_new_file(error: anyhow::Error) -> anyhow::Error {
    error.downcast::<TraceError>().map_or_else(|other| other, anyhow::Error::from)
}

/// A writer that takes the first rows, and hashes keys where asked.
struct Conversion<'a> {
    writer: TraceWriter<'a>,
    left: u64,
    salt: Option<RandomState>,
    formats: Formats,
}

impl Sink for Conversion<'_> {
    fn begin(&mut self, file: &Recognised) {
        self.formats.add(file);
    }

    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        let Some(left) = self.left.checked_sub(1) else { return ControlFlow::Break(()) };
        self.left = left;
        let key = match (row.key, &self.salt) {
            (Key::Bytes(key), Some(salt)) => {
                let mut hasher = salt.build_hasher();
                hasher.write(key);
                Key::Hash(hasher.finish())
            }
            (key, _) => key,
        };
        Sink::push(&mut self.writer, &Row { key, ..*row })?;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
