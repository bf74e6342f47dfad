//! `larder engines`: the caches that can be compared, and those that can run here.

use clap::Args;
use larder_host::managed;
use larder_store::{ByteSize, Capabilities, Engine, Error, OptionDoc, Recipe, StoreUrl};
use serde::Serialize;

use super::print;
use crate::catalog::CATALOG;
use crate::exit::Exit;

/// Lists the caches that can be compared, whether they can run here, and the packages that the others need.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only this engine, with its options
    engine: Option<String>,
    /// As text or JSON
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

/// One engine, as `--format json` prints it.
#[derive(Debug, Serialize)]
struct Listed {
    engine: &'static str,
    kind: &'static str,
    runnable: bool,
    version: Option<String>,
    limits: Limits,
    reason: Option<String>,
    /// The other servers of this engine, by the option `server`.
    servers: Vec<OtherServer>,
}

/// A server that is started where the option `server` names it.
#[derive(Debug, Serialize)]
struct OtherServer {
    server: &'static str,
    runnable: bool,
    /// The package to install, where the server is missing.
    reason: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Limits {
    max_key_len: Option<usize>,
    max_value_len: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let engines: Vec<&Engine> = match &arguments.engine {
        Some(name) => vec![CATALOG.find(name.trim_end_matches(':'))?],
        None => CATALOG.iter().collect(),
    };
    let listed: Vec<(&Engine, Listed)> =
        engines.into_iter().map(|engine| (engine, list(engine))).collect();
    let text = if arguments.format == "json" {
        let rows: Vec<_> = listed.iter().map(|(_, row)| row).collect();
        format!("{}\n", serde_json::to_string_pretty(&rows)?)
    } else {
        let mut text: String = listed.iter().map(|(engine, row)| lines(engine, row)).collect();
        if arguments.engine.is_some() {
            text.extend(listed.iter().map(|(engine, _)| options(engine)));
        }
        text
    };
    print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Opens the engine with its defaults and asks it.
fn list(engine: &Engine) -> Listed {
    let opened =
        StoreUrl::parse(&engine.default_url()).and_then(|url| engine.open_store(&url, &CATALOG));
    let row = Listed {
        engine: engine.scheme,
        kind: "store",
        runnable: opened.is_ok(),
        version: None,
        limits: Limits::default(),
        reason: None,
        servers: engine
            .recipes
            .iter()
            .filter(|recipe| !recipe.server.is_empty())
            .map(|recipe| other_server(engine, recipe))
            .collect(),
    };
    match opened {
        Ok(store) => {
            let Capabilities { max_key_len, max_value_len, .. } = store.capabilities();
            let limits = Limits { max_key_len, max_value_len };
            Listed { version: store.info().version, limits, ..row }
        }
        Err(error) => Listed { reason: Some(reason(engine, &error)), ..row },
    }
}

/// Looks for the program of a server, without starting it.
fn other_server(engine: &Engine, recipe: &Recipe) -> OtherServer {
    let found = managed::find(engine.scheme, recipe);
    let reason = || format!("{} is not installed: {}", recipe.program, recipe.source.command());
    OtherServer {
        server: recipe.server,
        runnable: found.is_ok(),
        reason: found.is_err().then(reason),
    }
}

/// The reason why an engine cannot run here, with the command that installs the missing program. An error about a
/// server behind the engine, or about its interpreter, already has that command. Then the engine's own command would
/// not help.
fn reason(engine: &Engine, error: &Error) -> String {
    let text = error.to_string();
    let mut known = CATALOG.iter().flat_map(|engine| engine.recipes);
    let names_one = known.any(|recipe| text.contains(&recipe.source.command()));
    match engine.recipes.first() {
        Some(recipe) if !names_one && matches!(error, Error::Unavailable { .. }) => {
            format!("{text} ({})", recipe.source.command())
        }
        _ => text,
    }
}

/// Two lines for each engine: whether it runs here and its size limits; then its description, or the reason. Each other
/// server adds a line.
fn lines(engine: &Engine, row: &Listed) -> String {
    let limit = |limit: Option<usize>| {
        limit
            .map_or_else(|| "no limit known".to_owned(), |limit| ByteSize(limit as u64).to_string())
    };
    let state = match (&row.reason, &row.version) {
        (Some(reason), _) => format!("cannot run here: {reason}"),
        (None, version) => format!(
            "runs here{}; keys: {}; values: {}",
            version.as_ref().map_or_else(String::new, |version| format!(", version {version}")),
            limit(row.limits.max_key_len),
            limit(row.limits.max_value_len)
        ),
    };
    let scheme = format!("{}:", engine.scheme);
    let other = |OtherServer { server, reason, .. }: &OtherServer| {
        let state = reason
            .as_ref()
            .map_or("is there".into(), |reason| format!("cannot run here: {reason}"));
        format!("{:12} server={server}: {state}\n", "")
    };
    let others: String = row.servers.iter().map(other).collect();
    format!("{scheme:12} {}\n{:12} {state}\n{others}", engine.summary, "")
}

fn options(engine: &Engine) -> String {
    let option = |option: OptionDoc| {
        let default = if option.default.is_empty() {
            String::new()
        } else {
            format!(" [default: {}]", option.default)
        };
        format!("  {:14} {}{default}\n", option.name, option.text)
    };
    let own: String = engine.option_docs().into_iter().map(option).collect();
    let layers: String = match CATALOG.guest(engine.scheme) {
        Some(_) => String::new(),
        None => engine.layers(&CATALOG).map(|layer| option(layer.docs())).collect(),
    };
    let every = if layers.is_empty() { "" } else { "options of every store:\n" };
    format!("\nexample: {}\n{own}{every}{layers}", engine.example)
}
