//! `larder completions` and `larder man`: both are generated from the arguments.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments;
use crate::exit::Exit;

/// Prints completions for a shell.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(arguments: &Completions) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    let mut command = arguments::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "larder", &mut text);
    super::print(&text)?;
    Ok(Exit::Done)
}

/// One page: the program, then each subcommand.
pub(crate) fn man() -> anyhow::Result<Exit> {
    let mut command = arguments::Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for subcommand in command.get_subcommands() {
        let page = clap_mangen::Man::new(subcommand.clone());
        let name = subcommand.get_name().to_uppercase();
        text.extend_from_slice(format!(".SH \"LARDER {name}\"\n").as_bytes());
        page.render_description_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_options_section(&mut text)?;
    }
    super::print(&text)?;
    Ok(Exit::Done)
}
