//! `larder trace`: traces in other formats.

use clap::{Args, Subcommand};
use larder_workload::trace::TraceSource;

use super::whole;
use crate::exit::{Exit, Usage};

/// What is done with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a trace in another format
    ///
    /// Keys become numbers, in the order in which they appear.
    Convert(Convert),
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The trace, compressed or not; `FILE?format=NAME` where its format cannot be recognised
    from: TraceSource,
    /// The file, which appears once it is whole: `NAME.csv`, `NAME.oracleGeneral` or `FILE?format=NAME`
    to: TraceSource,
    /// Convert the first N operations only
    #[arg(long, value_name = "N")]
    requests: Option<usize>,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Convert(arguments) => convert(arguments),
    }
}

fn convert(arguments: &Convert) -> anyhow::Result<Exit> {
    let path = &arguments.to.path;
    let format = arguments.to.format_to_write().map_err(Usage)?;
    let trace = arguments.from.open(arguments.requests)?;
    let left_out = whole::write(path, |out| Ok(trace.write(format, out)?))?;
    let (n_ops, n_keys) = (trace.len() as u64 - left_out, trace.n_keys());
    let more = match left_out {
        0 => String::new(),
        _ => format!("; {left_out} deletes and touches are left out, because {format} has none"),
    };
    anstream::eprintln!(
        "larder: {n_ops} operations on {n_keys} keys are in {}{more}",
        path.display()
    );
    Ok(Exit::Done)
}
