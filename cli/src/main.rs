//! The `larder` binary: arguments in, exit code out. One file for each subcommand.

mod arguments;
mod catalog;
mod command;
mod exit;
mod interrupt;
mod progress;
mod terminal;
mod version;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use exit::Exit;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let given = match arguments::given() {
        Ok(given) => given,
        Err(error) => return Exit::of_error(&error.into()).into(),
    };
    let arguments = match Arguments::try_parse_from(given) {
        Ok(arguments) => arguments,
        Err(error) => return exit::of_arguments(&error),
    };
    let outcome = match arguments.command {
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Advise(arguments) => command::advise::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Diff(arguments) => command::diff::run(&arguments),
        Command::Engines(arguments) => command::engines::run(&arguments),
        Command::Scenarios(arguments) => command::scenarios::run(&arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Record(arguments) => command::record::run(&arguments),
        Command::Top(arguments) => command::top::run(&arguments),
        Command::Get(arguments) => command::entry::get(&arguments),
        Command::Set(arguments) => command::entry::set(&arguments),
        Command::Delete(arguments) => command::entry::delete(&arguments),
        Command::Backup(arguments) => command::backup::backup(&arguments),
        Command::Restore(arguments) => command::backup::restore(&arguments),
        Command::Stats(arguments) => command::stats::run(&arguments),
        Command::Inspect(arguments) => command::inspect::run(&arguments),
        Command::Trace { command } => command::trace::run(&command),
        Command::Completions(arguments) => command::generate::completions(&arguments),
        Command::Man => command::generate::man(),
    };
    outcome.unwrap_or_else(|error| Exit::of_error(&error)).into()
}
