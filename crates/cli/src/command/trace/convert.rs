//! `larder trace convert`: rows go from the reader of one format to the writer of another, one after the other.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use larder_workload::trace::{Key, Row, Sink, TraceSource, TraceWriter, read_rows};

use super::super::whole;
use crate::exit::{Exit, Usage};

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The trace, compressed or not; `FILE?format=NAME` where its format cannot be recognised;
    /// `NAME-*.parquet` for several files in the order of their names
    from: TraceSource,
    /// The file, which appears once it is whole: `NAME.parquet`, `NAME.csv`, `NAME.oracleGeneral`, `NAME.twitter` or
    /// `FILE?format=NAME`
    to: TraceSource,
    /// Convert the first N operations only
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
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
    if !arguments.overwrite && path.exists() {
        let shown = path.display();
        return Err(Usage(format!(
            "{shown} exists; take another name, or replace it by --overwrite"
        ))
        .into());
    }
    let (written, about) = whole::write_private(path, |out| {
        // The folder of the new file has room for what is as large.
        let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let scratch = beside.unwrap_or(Path::new("."));
        let mut sink = Conversion {
            writer: TraceWriter::with_scratch(format, out, scratch)?,
            left: arguments.requests.unwrap_or(u64::MAX),
            salt: arguments.hash_keys.then(RandomState::new),
        };
        let about = read_rows(&arguments.from, &mut sink)?;
        let written = sink.writer.finish(&about)?;
        if written.rows == 0 {
            bail!("trace {}: has no operation that {format} has a place for", arguments.from);
        }
        Ok((written, about))
    })?;
    anstream::eprintln!("larder: {} operations are in {}", written.rows, path.display());
    if !written.left_out.is_empty() {
        anstream::eprintln!(
            "larder: left out, because {format} has no place for it: {}",
            written.left_out.join("; ")
        );
    }
    if about.torn_bytes > 0 {
        anstream::eprintln!(
            "larder: {} ends with {} bytes of a torn record, which are left out",
            arguments.from,
            about.torn_bytes
        );
    }
    Ok(Exit::Done)
}

/// A writer that takes the first rows, and hashes keys where asked.
struct Conversion<'a> {
    writer: TraceWriter<'a>,
    left: u64,
    salt: Option<RandomState>,
}

impl Sink for Conversion<'_> {
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
