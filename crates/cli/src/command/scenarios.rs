//! `larder scenarios`: what is built in.

use clap::Args;
use larder_bench::{BUILT_IN, MADE, Made, Scenario};

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
            // A wrong name, and a wrong file, is told as `compare --scenario` tells it.
            Scenario::find(name)?;
            Scenario::text(name)?.into_owned()
        }
        None => list()?,
    };
    super::print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// All of them, a line each.
fn list() -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, _) in BUILT_IN {
        let scenario = Scenario::find(name)?;
        text += &line(&scenario.name, &scenario.summary, &scenario);
    }
    for Made { name, argument, summary, example, .. } in MADE {
        let scenario = Scenario::find(&format!("{name}:{example}"))?;
        text += &line(&format!("{name}:{argument}"), summary, &scenario);
    }
    Ok(text)
}

/// A scenario in a line: what it shows, and the flags that it has another form for.
fn line(name: &str, summary: &str, scenario: &Scenario) -> String {
    let mut forms = String::new();
    if scenario.full.is_some() {
        forms += " [--full]";
    }
    if let Some(published) = &scenario.published {
        forms += " [--as published";
        forms += if published.full.is_some() { " [--full]]" } else { "]" };
    }
    format!("{name:12} {summary}{forms}\n")
}
