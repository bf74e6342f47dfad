//! The small commands: engines, set, get, delete, stats, completions, man.

use std::os::unix::fs::symlink;
use std::path::Path;

use larder_bench::guest;
use larder_engines::ENGINES;
use larder_testkit::Postgres;

use crate::foreign::Server;
use crate::scene::{Scene, assert_contains};
use crate::{Case, MEMCACHED, NOTHING, POSTGRESQL};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "engines_lists_every_engine_and_whether_it_runs_here", engines),
    (NOTHING, "an_engine_without_its_server_names_the_package", engines_without_servers),
    (NOTHING, "one_engine_is_shown_with_its_options", engine),
    (NOTHING, "an_entry_is_set_read_and_deleted_in_files", entries_in_files),
    (MEMCACHED, "an_entry_is_set_read_and_deleted_on_a_server", entries_on_a_server),
    (POSTGRESQL, "an_entry_is_set_read_and_deleted_in_a_database", entries_in_a_database),
    (NOTHING, "an_entry_that_would_vanish_with_the_command_is_not_stored", vanishing),
    (NOTHING, "an_entry_cannot_be_read_from_an_address_without_a_server", without_a_server),
    (NOTHING, "top_tells_which_servers_are_down_and_which_arguments_are_wrong", top),
    (NOTHING, "completions_and_manual_page_name_every_command", generated),
    (NOTHING, "help_shows_how_it_is_used", help),
    (NOTHING, "the_short_help_of_every_command_fits_a_screen", short_help),
    (NOTHING, "version_tells_scripts_one_line_and_people_the_engines", version),
];

const COMMANDS: [&str; 15] = [
    "compare",
    "advise",
    "engines",
    "scenarios",
    "serve",
    "top",
    "get",
    "set",
    "delete",
    "backup",
    "restore",
    "stats",
    "inspect",
    "completions",
    "man",
];

fn engines() {
    let scene = Scene::new();
    let text = scene.larder(&["engines"]);
    let listed = scene.larder(&["engines", "--format", "json"]).ends_with(0).json();
    let listed = listed.as_array().unwrap();
    let catalog = ENGINES.with_guests(guest::GUESTS);
    assert_eq!(listed.len(), catalog.iter().count());
    for (row, engine) in listed.iter().zip(catalog.iter()) {
        let mut names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let known =
            ["engine", "kind", "limits", "opened", "reason", "runnable", "servers", "version"];
        assert_eq!(names, known);
        assert_eq!(
            (row["engine"].as_str(), row["kind"].as_str()),
            (Some(engine.scheme), Some("store"))
        );
        assert_eq!(row["runnable"] == true, row["reason"].is_null(), "{row:#}");
        assert!(row["limits"].get("max_key_len").is_some(), "{row:#}");
        assert!(row["limits"].get("max_value_len").is_some(), "{row:#}");
        // Engines without a server run everywhere; the default of `tiered:` has one below.
        let names_a_program = |reason: &str| {
            let mut recipes = catalog.iter().flat_map(|engine| engine.recipes);
            recipes.any(|recipe| reason.contains(&recipe.source.command()))
        };
        assert!(row["reason"].as_str().is_none_or(names_a_program), "{row:#}");
        assert!(
            row["runnable"] == true || !engine.recipes.is_empty() || engine.scheme == "tiered",
            "{row:#}"
        );
        assert_contains(&text.out, &[engine.summary]);
    }
    let lmdb = listed.iter().find(|row| row["engine"] == "lmdb").unwrap();
    assert!(lmdb["version"].as_str().unwrap().starts_with("0.9."), "{lmdb:#}");
    // The list starts no server that is installed; the engine alone does, and then tells its version.
    if MEMCACHED().is_ok() && Path::new("/var/lib/dpkg/info/memcached.md5sums").is_file() {
        let memcached = listed.iter().find(|row| row["engine"] == "memcached").unwrap();
        assert!(memcached["runnable"] == true && memcached["opened"] == false, "{memcached:#}");
        let alone = scene.larder(&["engines", "memcached", "--format", "json"]);
        assert!(alone.ends_with(0).json()[0]["version"].is_string(), "{alone:#?}");
    }
    scene.assert_nothing_left();
}

fn engines_without_servers() {
    let scene = Scene::new();
    let listed =
        scene.larder_alone(&["engines", "memcached:", "--format", "json"]).ends_with(0).json();
    assert_eq!(listed[0]["runnable"], false);
    let reason = listed[0]["reason"].as_str().unwrap();
    assert_contains(reason, &["memcached is not installed", "apt-get install memcached"]);
    let text = scene.larder_alone(&["engines"]).ends_with(0).out.clone();
    assert_contains(&text, &[&format!("cannot run here: {reason}")]);
    // The server is missing, and the guest's own command would not install it. The interpreter is there, and never starts.
    symlink("/bin/false", scene.path("tmp/perl")).unwrap();
    let guest = scene.larder_alone(&["engines", "perl+memcached"]).ends_with(0).out.clone();
    assert_contains(&guest, &["apt-get install memcached"]);
    assert!(!guest.contains("apt-get install libcache-memcached-fast-perl"), "{guest}");
}

fn engine() {
    let answer = Scene::new().larder(&["engines", "lmdb"]);
    assert_contains(
        &answer.ends_with(0).out,
        &["lmdb:", "example: lmdb:", "  sync ", "[default: "],
    );
    assert!(!answer.out.contains("sqlite"), "{answer:#?}");
}

/// Sets, reads, counts and deletes one entry of a store.
fn one_entry(scene: &Scene, url: &str) {
    let larder = |arguments: &[&str]| scene.larder(arguments);
    larder(&["get", url, "greeting"]).ends_with(1).complains(&[url]);
    let set = larder(&["set", url, "greeting", "good day\nto you"]);
    assert!(set.ends_with(0).out.is_empty() && set.err.is_empty(), "{set:#?}");
    let get = larder(&["get", url, "greeting"]);
    assert_eq!((get.ends_with(0).out.as_str(), get.err.as_str()), ("good day\nto you", ""));
    larder(&["set", url, "greeting", "x", "--ttl", "1h"]).ends_with(0);
    assert_eq!(larder(&["get", url, "greeting"]).out, "x");

    assert!(larder(&["stats", url]).ends_with(0).out.contains("hits  "));
    let stats = larder(&["stats", url, "--format", "json"]).ends_with(0).json();
    assert!(stats["items"].is_null() || stats["items"] == 1, "{stats:#}");

    larder(&["delete", url, "greeting"]).ends_with(0);
    larder(&["delete", url, "greeting"]).ends_with(1).complains(&[url]);
    larder(&["get", url, "greeting"]).ends_with(1);
}

fn entries_in_files() {
    let scene = Scene::new();
    for url in [
        "file:cache",
        "lmdb:map",
        "sqlite:cache.db",
        "redb:cache.redb",
        "fjall:log",
        "tiered:moka:|file:stacked",
    ] {
        one_entry(&scene, url);
    }
    scene.assert_nothing_left();
}

fn entries_on_a_server() {
    let (scene, server) = (Scene::new(), Server::start(""));
    one_entry(&scene, &server.url);
    scene.assert_nothing_left();
}

fn entries_in_a_database() {
    let (scene, server) = (Scene::new(), Postgres::start(&[]));
    // The password alone is shown nowhere.
    let url = server.url();
    let (before, after) = url.split_once(":s%40crt@").unwrap();
    let larder = |arguments: &[&str]| scene.larder(arguments);
    larder(&["get", &url, "greeting"]).ends_with(1).complains(&[
        "no key `greeting`",
        before,
        after,
    ]);
    larder(&["set", &url, "greeting", "good day"]).ends_with(0);
    assert_eq!(larder(&["get", &url, "greeting"]).ends_with(0).out, "good day");
    let stats = larder(&["stats", &url, "--format", "json"]).ends_with(0).json();
    assert_eq!(stats["items"], 1, "{stats:#}");
    larder(&["delete", &url, "greeting"]).ends_with(0);
    larder(&["delete", &url, "greeting"]).ends_with(1);
    scene.assert_nothing_left();
}

fn vanishing() {
    let scene = Scene::new();
    for url in ["moka:", "null:", "file:", "lmdb:", "sqlite:", "tiered:moka:|lmdb:"] {
        let answer = scene.larder(&["set", url, "key", "value"]);
        answer.ends_with(2).complains(&[url, "ends with this command; name a path or a server"]);
    }
    // No server starts only to report an absent key: without an installed server, the answer is the same.
    for command in [&["get"][..], &["delete"], &["set"]] {
        let answer = scene.larder_alone(&[command, &["memcached:", "key"]].concat());
        answer.ends_with(2).complains(&["memcached: ends with this command"]);
    }
    scene.assert_nothing_left();
}

fn without_a_server() {
    let scene = Scene::new();
    for command in [&["get"][..], &["delete"], &["set"]] {
        let answer = scene.larder(&[command, &["memcached://127.0.0.1:1", "key"]].concat());
        answer.ends_with(1).complains(&["127.0.0.1:1 refused the connection"]);
    }
}

fn top() {
    let scene = Scene::new();
    let answer = scene.larder(&["top", "/no/such/socket", "--interval", "100ms"]);
    assert_contains(&answer.ends_with(1).out, &["req/s", "/no/such/socket  down"]);
    assert_contains(&answer.err, &["larder: no server answered; /no/such/socket: no such file"]);
    for (arguments, parts) in [
        (["top", "host:0"], ["`0` is no port from 1 to 65535", "write host:11211"]),
        (["top", "-i1ms"], ["an interval of 1ms", "100ms and 1h"]),
    ] {
        scene.larder(&arguments).ends_with(2).complains(&parts);
    }
}

fn generated() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish"] {
        let answer = scene.larder(&["completions", shell]);
        assert_contains(&answer.ends_with(0).out, &COMMANDS);
        assert!(answer.err.is_empty(), "{answer:#?}");
    }
    let page = scene.larder(&["man"]);
    let sections = COMMANDS.map(|command| format!(".SH \"LARDER {}\"", command.to_uppercase()));
    assert_contains(&page.ends_with(0).out, &sections);
    assert_contains(&page.out, &["\\-\\-data\\-size", ".TH larder 1"]);
}

fn help() {
    let scene = Scene::new();
    assert_contains(&scene.larder(&["--help"]).ends_with(0).out, &COMMANDS);
    let long = scene.larder(&["compare", "--help"]);
    assert_contains(
        &long.ends_with(0).out,
        &["Examples:", "--data-size", "--on-miss", "--dry-run"],
    );
    assert_eq!(scene.larder(&[]).code, Some(2));
}

/// A screen has 40 lines here, each as wide as help is where there is no terminal.
fn short_help() {
    let scene = Scene::new();
    for command in COMMANDS {
        let help = scene.larder(&[command, "-h"]).ends_with(0).out.clone();
        let n_lines = help.lines().count();
        assert!(n_lines <= 40, "`larder {command} -h` has {n_lines} lines:\n{help}");
    }
}

fn version() {
    let scene = Scene::new();
    let short = scene.larder(&["-V"]).ends_with(0).out.clone();
    assert_eq!(short.split_whitespace().nth(1), Some(env!("CARGO_PKG_VERSION")), "{short}");
    let long = scene.larder(&["--version"]).ends_with(0).out.clone();
    let lines: Vec<_> = long.lines().collect();
    assert_eq!(lines[0], short.trim_end());
    let engines: Vec<_> = lines[1].strip_prefix("engines: ").unwrap().split(' ').collect();
    let built = larder_engines::ENGINES.natives().filter(|engine| engine.is_built());
    assert_eq!(engines, built.map(|engine| engine.scheme).collect::<Vec<_>>());
    assert_contains(&long, &["features: ", "otel", "built for: ", "-linux-"]);
}
