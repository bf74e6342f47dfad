//! `larder scenarios`: the built-in scenarios.

use std::iter;

use clap::Args;
use larder_bench::{BUILT_IN, BUILT_IN_SETS, GENERATED, GeneratedScenario, Named, Scenario};

use crate::exit::Exit;

/// Lists the built-in scenarios and sets, or shows a scenario as a file, from which your own scenario can start.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Show this scenario
    name: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let text = match &arguments.name {
        Some(name) => {
            // A wrong name, or a wrong file, gives the same error as in `compare --scenario`.
            Named::find(name)?;
            Named::text(name)?.into_owned()
        }
        None => list()?,
    };
    super::print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// All scenarios and sets, a line each.
fn list() -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, _) in BUILT_IN {
        let scenario = Scenario::find(name)?;
        text += &line(&scenario.name, &scenario.summary, &iter::once(&scenario));
    }
    for GeneratedScenario { name, argument, summary, example, .. } in GENERATED {
        let scenario = Scenario::find(&format!("{name}:{example}"))?;
        text += &line(&format!("{name}:{argument}"), summary, &iter::once(&scenario));
    }
    for (name, _) in BUILT_IN_SETS {
        if let Named::Set(set) = Named::find(name)? {
            text += &line(&set.name, &set.summary, &set.members()?.iter());
        }
    }
    Ok(text)
}

/// A scenario or a set in a line: its summary, and the flags that give all its scenarios another form.
fn line<'a>(
    name: &str,
    summary: &str,
    scenarios: &(impl Iterator<Item = &'a Scenario> + Clone),
) -> String {
    let mut forms = String::new();
    if scenarios.clone().all(|scenario| scenario.full.is_some()) {
        forms += " [--full]";
    }
    let published = || scenarios.clone().map(|scenario| scenario.published.as_ref());
    if published().all(|form| form.is_some()) {
        forms += " [--as published";
        let full = published().flatten().all(|form| form.full.is_some());
        forms += if full { " [--full]]" } else { "]" };
    }
    format!("{name:12} {summary}{forms}\n")
}
