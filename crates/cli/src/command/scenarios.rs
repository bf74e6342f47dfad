//! `larder scenarios`: what is built in.

use clap::Args;
use larder_bench::{BUILT_IN, Scenario};

use crate::exit::Exit;

/// Lists the built-in scenarios, or shows one as the file that a scenario of your own can start from.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Show this one
    name: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let text = match &arguments.name {
        Some(name) => {
            // A wrong name is told as `compare --scenario` tells it.
            Scenario::find(name)?;
            let built_in = BUILT_IN.iter().find(|(known, _)| known == name);
            match built_in {
                Some((_, text)) => (*text).to_owned(),
                None => std::fs::read_to_string(name)?,
            }
        }
        None => BUILT_IN
            .iter()
            .map(|(name, _)| Ok(line(&Scenario::find(name)?)))
            .collect::<anyhow::Result<String>>()?,
    };
    super::print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// A scenario in a line: what it shows, and the flags that it has another form for.
fn line(scenario: &Scenario) -> String {
    let mut forms = String::new();
    if scenario.full.is_some() {
        forms += " [--full]";
    }
    if let Some(published) = &scenario.published {
        forms += " [--as published";
        forms += if published.full.is_some() { " [--full]]" } else { "]" };
    }
    format!("{:12} {}{forms}\n", scenario.name, scenario.summary)
}
