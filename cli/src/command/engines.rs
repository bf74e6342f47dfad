//! `larder engines`: the caches that can be compared, and those that can run here.
//!
//! To list all engines takes about two seconds: an engine whose programs and packages are installed is not opened. An engine
//! that works in this process is opened, because that takes milliseconds. So is an engine that lacks a package of its
//! recipe, because only opening tells whether its library came from elsewhere.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

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
    /// Only this engine, with its options; it is opened, and its server started
    engine: Option<String>,
    /// Open every engine, for its version and limits; with all servers and languages this takes a minute
    #[arg(long)]
    open: bool,
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
    /// Whether the engine was opened. Otherwise its version and limits are unknown.
    #[serde(rename = "opened")]
    is_opened: bool,
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
    let is_opened = arguments.open || arguments.engine.is_some();
    let listed = list_all(&engines, is_opened);
    let text = if arguments.format == "json" {
        let rows: Vec<_> = listed.iter().map(|(_, row)| row).collect();
        format!("{}\n", serde_json::to_string_pretty(&rows)?)
    } else {
        let mut text: String = listed.iter().map(|(engine, row)| lines(engine, row)).collect();
        if arguments.engine.is_some() {
            text.extend(listed.iter().map(|(engine, _)| options(engine)));
        } else if !arguments.open {
            text.push_str("\n`larder engines NAME` opens an engine, and shows its version, limits and options.\n");
        }
        text
    };
    print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Lists the engines in their order. Several threads do it, because an engine that is opened may wait for its program.
fn list_all<'a>(engines: &[&'a Engine], is_opened: bool) -> Vec<(&'a Engine, Listed)> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(engine) = engines.get(at) else { break };
            let row = if !is_opened && is_at_hand(engine) { present(engine) } else { open(engine) };
            rows.lock().unwrap_or_else(PoisonError::into_inner).push((at, row));
        }
    };
    let n_threads = thread::available_parallelism().map_or(1, NonZero::get).min(engines.len());
    thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(work);
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(at, row)| (engines[at], row)).collect()
}

/// Whether everything that an engine starts with its defaults is installed here, with the servers of a guest; false for
/// an engine that starts nothing.
fn is_at_hand(engine: &Engine) -> bool {
    let first_of = |role| engine.recipes.iter().find(move |recipe| recipe.role == role);
    // Other programs of a role are alternatives; packages of the same program are all needed.
    let is_needed = |recipe: &&Recipe| {
        first_of(recipe.role).is_some_and(|first| first.program == recipe.program)
    };
    let needs = engine.recipes.iter().filter(is_needed);
    let mut all = needs.map(|recipe| managed::is_at_hand(engine.scheme, recipe)).peekable();
    let servers = CATALOG.guest(engine.scheme).and_then(|guest| guest.servers);
    let mut servers = servers.iter().filter_map(|scheme| CATALOG.find(scheme).ok());
    all.peek().is_some() && all.all(|is_there| is_there) && servers.all(is_at_hand)
}

/// The row of an engine that is not opened.
fn present(engine: &Engine) -> Listed {
    Listed {
        engine: engine.scheme,
        kind: "store",
        runnable: true,
        version: None,
        limits: Limits::default(),
        reason: None,
        is_opened: false,
        servers: engine
            .recipes
            .iter()
            .filter(|recipe| !recipe.server.is_empty())
            .map(|recipe| other_server(engine, recipe))
            .collect(),
    }
}

/// Opens the engine with its defaults and asks it.
fn open(engine: &Engine) -> Listed {
    let opened =
        StoreUrl::parse(&engine.default_url()).and_then(|url| engine.open_store(&url, &CATALOG));
    let row = Listed { is_opened: true, ..present(engine) };
    match opened {
        Ok(store) => {
            let Capabilities { max_key_len, max_value_len, .. } = store.capabilities();
            let limits = Limits { max_key_len, max_value_len };
            Listed { version: store.info().version, limits, ..row }
        }
        Err(error) => Listed { runnable: false, reason: Some(reason(engine, &error)), ..row },
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
        (None, _) if !row.is_opened => {
            "runs here, as its programs and packages are installed; not opened".to_owned()
        }
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
