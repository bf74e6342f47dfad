//! `larder trace`: recorded traffic. One file a command.

mod convert;

use clap::Subcommand;

use crate::exit::Exit;

/// What is done with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a trace in another format
    ///
    /// A trace may be larger than the memory. All that the new format has a place for is kept, and the rest is told.
    Convert(convert::Convert),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Convert(arguments) => convert::run(arguments),
    }
}
