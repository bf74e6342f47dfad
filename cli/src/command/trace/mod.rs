//! `larder trace`: recorded traffic. One file a command.

mod beginning;
mod convert;
mod info;

use std::fmt::Display;
use std::path::Path;

use anyhow::bail;
use clap::Subcommand;
use larder_bench::Plan;
use larder_workload::trace::TraceSource;

use crate::exit::{Exit, Usage};

pub(super) use self::beginning::Beginning;

/// What is done with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a trace in another format
    ///
    /// A trace may be larger than the memory. All that the new format has a place for is kept, and the rest is told.
    Convert(Box<convert::Convert>),
    /// Say what a trace asks of a cache: rate, mix, sizes, popularity, and hit ratios against capacity
    ///
    /// A trace may be larger than the memory: it is read once, and what depends on keys comes from a sample of them, told
    /// with its error. docs/trace-info.md says what each figure means.
    Info(Box<info::Info>),
}

/// Refuses to write over the trace that is read; `place` is how the user named the file.
fn refuse_trace(trace: &TraceSource, path: &Path, place: &str) -> anyhow::Result<()> {
    if trace.is_read_from(path) {
        bail!(Usage(format!("{place} is the trace that is read; name another file")));
    }
    Ok(())
}

/// Tells in which format a trace is read.
pub(super) fn tell_format(trace: &dyn Display, format: &dyn Display) {
    anstream::eprintln!("larder: {trace} is read as {format}");
}

/// Tells in which format the trace of a plan is read, where it replays one.
pub(super) fn tell_format_of(plan: &Plan) {
    if let (Some(trace), Some(format)) =
        (plan.workload.get("key-pattern"), plan.workload.get("trace-format"))
    {
        tell_format(trace, format);
    }
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Convert(arguments) => convert::run(arguments),
        Command::Info(arguments) => info::run(arguments),
    }
}
