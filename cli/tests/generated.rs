//! The pages of `docs/` that are made from the code, and the names in other files that must match the code.
//!
//! The tests compare each page with the code of today. `LARDER_BLESS=1 cargo test -p larder-cli --test generated` writes
//! the page instead.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "generated/architecture.rs"]
mod architecture;
#[path = "generated/arrows.rs"]
mod arrows;
#[path = "generated/map.rs"]
mod map;
#[path = "generated/stores.rs"]
mod stores;

use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use architecture::path;
use clap::{Args, Command};
use larder_analysis::check::CHECKS;
use larder_bench::guest;
use larder_bench::{BUILT_IN, BUILT_IN_SETS, GENERATED, GeneratedScenario};
use larder_engines::ENGINES;
use larder_report::{Run, digest};
use larder_store::{Catalog, Engine, Medium, OptionDoc, Recipe, Source};
use larder_workload::WorkloadSpec;
use larder_workload::trace::{FORMATS, Outcome, Verb};
use liblzma::read::XzDecoder;

const HEAD: &str =
    "<!-- Made from the code by cli/tests/generated.rs. Do not edit; run `just generate`. -->\n";

/// The engines and checks that `larder` knows.
const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

const ENGINES_HEAD: &str = "\
# Engines

An engine is a kind of cache. Its name is the scheme of a store URL: `moka:`, `file:/var/tmp/cache`,
`memcached://h1:11211,h2:11211`. Options stand behind a question mark and are joined by `&`. An unknown option is an
error that names the known options, and a value out of range is an error that names the limit. Sizes are written `4096`,
`4k`, `64m`, `1g` (powers of 1024), times `250ms`, `30s`, `10m`, switches `on` and `off`. Every engine has the option
`name=LABEL`: its label in reports.

Engines that begin with a language and a plus (`perl+fastmmap:`) are guests: caches that live inside another language
and are measured by a program in it. Their package is the package of their client; [guests.md](../guests.md) describes
guests.

An engine of files without a path makes a temporary store. An engine of servers starts a server for itself when its URL
names no host, and stops it again. The last column names the Debian package that an engine needs, or `--with NAME`: the
software that `./setup.sh --with NAME` puts into the user's data folder. `larder engines` lists the engines that can run
on this machine; `larder engines NAME` opens one, and shows its version.
";

const LAYERS_HEAD: &str = "
## Options of every store

These options put layers around a store: `memcached://h1?retry=2&breaker=5&compress=zstd:1k&metrics=on`. Every engine
takes them but the guests, and so does each tier of a stack. `off` leaves a layer out. The order of the options does not
matter. From the store outwards the layers are `compress`, `breaker`, `retry`, `metrics`, `spans`. So the breaker counts
each repeated call, and no call that it refuses is repeated. The metrics and spans are those of the caller's calls. A store
with layers has no pipeline: `--connections` of a comparison refuses it. `larder stats` shows the counters of the layers.
For a stack of tiers `spans` is an option of its own.

";

const CHECKS_HEAD: &str = "\
# Checks

A check is a rule that looks for one way in which a figure misleads. Every comparison goes through all checks. Their
findings stand below the figures, and under `checks` in `run.json`, each with a severity. The severity of some checks
depends on the finding:

- **error**: the figure is no result. It is shown and not ranked, and with `--strict` the exit code is 3.
- **warn**: the figure is right, but its apparent meaning is wrong.
- **note**: a fact that a reader should know before comparing.

The articles are five published comparisons of caches, in which these mistakes were made or met: A000, memcached and
MongoDB as a network cache (PHP, about 2011); A001, memcached and PostgreSQL (Java, 2012); A002, files and memcached
(Perl, 2010); A003, tiered caches (Perl, about 2009); A004, memcached, MemcacheDB and InnoDB's memcached plugin (2012
and 2013).

| check | severity | finding | the article | fix |
|---|---|---|---|---|
";

#[test]
fn the_pages_on_engines_are_up_to_date() {
    let mut page = format!("{HEAD}{ENGINES_HEAD}\n");
    page += "| engine | description | its entries are in | needs |\n|---|---|---|---|\n";
    for engine in CATALOG.iter() {
        let (scheme, summary) = (engine.scheme, cell(engine.summary));
        let sources: Vec<_> =
            engine.recipes.iter().filter_map(source).map(|source| format!("`{source}`")).collect();
        let package = if sources.is_empty() { "–".into() } else { sources.join(", ") };
        let place = place(engine);
        writeln!(page, "| [`{scheme}:`]({scheme}.md) | {summary} | {place} | {package} |").unwrap();
    }
    page += LAYERS_HEAD;
    for layer in CATALOG.layers() {
        let OptionDoc { name, text, .. } = layer.docs();
        writeln!(page, "- `{name}`: {text}").unwrap();
    }
    compare("docs/engines/README.md", &page);
    for engine in CATALOG.iter() {
        compare(&format!("docs/engines/{}.md", engine.scheme), &page_of(engine));
    }
    for file in fs::read_dir(path("docs/engines")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let scheme = name.strip_suffix(".md").unwrap_or_default();
        let is_known = scheme == "README" || CATALOG.iter().any(|engine| engine.scheme == scheme);
        assert!(is_known, "docs/engines/{name} is the page of no engine");
    }
}

#[test]
fn the_page_on_checks_is_up_to_date() {
    let mut page = format!("{HEAD}{CHECKS_HEAD}");
    for check in CHECKS {
        let about = check.about();
        let [sees, seen_in, advice] = [about.sees, about.seen_in, about.advice].map(cell);
        let severities: Vec<&str> = about.severities.iter().map(|it| it.as_str()).collect();
        let severities = severities.join(", ");
        writeln!(page, "| `{}` | {severities} | {sees} | {seen_in} | {advice} |", about.id)
            .unwrap();
    }
    compare("docs/checks.md", &page);
}

/// The marks around the part of an article that is made from its runs.
const RUNS: &str = "<!-- runs: ";
const END_OF_RUNS: &str = "<!-- end of runs -->";

/// `docs/articles/<article>-<form>.json.xz` are the runs, made by `just articles-page`.
#[test]
fn the_page_on_articles_shows_its_runs() {
    let page = fs::read_to_string(path("docs/articles.md")).unwrap();
    let mut parts = page.split(RUNS);
    let mut made = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, _) = part.split_once(" -->").unwrap();
        let (_, rest) = part.split_once(END_OF_RUNS).unwrap();
        let runs = committed_runs(name);
        let digest = digest(&runs.iter().collect::<Vec<_>>());
        assert!(!digest.is_empty(), "{name}: no run of it is committed");
        write!(made, "{RUNS}{name} -->\n\n{digest}\n{END_OF_RUNS}{rest}").unwrap();
    }
    compare("docs/articles.md", &made);
}

/// The runs of an article, corrected and as published, as far as they are committed.
fn committed_runs(article: &str) -> Vec<Run> {
    let files =
        ["corrected", "published"].map(|form| format!("docs/articles/{article}-{form}.json.xz"));
    let runs = files.iter().filter_map(|file| File::open(path(file)).ok()).map(|file| {
        let mut text = String::new();
        XzDecoder::new(file).read_to_string(&mut text).unwrap();
        Run::from_json(&text).unwrap()
    });
    runs.collect()
}

/// About the size that `builtin:page` promises.
const PAGE_LEN: usize = 30 << 10;

#[test]
fn the_page_that_values_are_cut_from_is_as_long_as_promised() {
    let page = fs::read_to_string(path("scenarios/page.html")).unwrap();
    assert!((PAGE_LEN - 6000..=PAGE_LEN).contains(&page.len()), "{} bytes", page.len());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
}

#[test]
fn the_page_on_scenarios_names_every_field_and_scenario() {
    let page = fs::read_to_string(path("docs/scenarios.md")).unwrap();
    let workload = WorkloadSpec::augment_args(Command::new("workload"));
    let fields = workload.get_arguments().filter_map(|field| field.get_long());
    let scenarios = BUILT_IN.iter().chain(BUILT_IN_SETS).map(|(name, _)| *name);
    let made: Vec<_> = GENERATED
        .iter()
        .map(|GeneratedScenario { name, argument, .. }| format!("{name}:{argument}"))
        .collect();
    let missing: Vec<_> = fields
        .chain(scenarios)
        .chain(made.iter().map(String::as_str))
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/scenarios.md does not name {missing:?}");
}

#[test]
fn the_page_on_traces_names_every_format_column_and_answer() {
    let page = fs::read_to_string(path("docs/traces.md")).unwrap();
    let formats = FORMATS.iter().map(|format| format.name);
    let operations = Verb::ALL.iter().map(|verb| verb.name());
    let results = Outcome::ALL.iter().map(|outcome| outcome.name());
    let names = formats.chain(operations).chain(results);
    let missing: Vec<_> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/traces.md does not name {missing:?}");
}

/// Packages of other servers for the same engine, which later releases of Debian have and Debian 12 lacks.
const NOT_IN_DEBIAN_12: [&str; 2] = ["valkey-server", "mysql-server"];

#[test]
fn setup_brings_the_package_that_every_recipe_names() {
    let script = fs::read_to_string(path("setup.sh")).unwrap();
    let list = |start: &str| -> Vec<&str> {
        let list = script.lines().find_map(|line| line.strip_prefix(start)?.strip_suffix(')'));
        list.unwrap_or_else(|| panic!("setup.sh has no line {start}…)")).split(' ').collect()
    };
    let (packages, extras) = (list("packages=("), list("extras=("));
    for recipe in CATALOG.iter().flat_map(|engine| engine.recipes) {
        let is_brought = match recipe.source {
            Source::Debian(package) => {
                packages.contains(&package) || NOT_IN_DEBIAN_12.contains(&package)
            }
            Source::Setup(name) => extras.contains(&name),
            Source::Feature(_) => false,
            // The maker's page tells how to install it, and `setup.sh` does not. Larder is built, not installed.
            Source::Page(_) | Source::Own => true,
        };
        assert!(is_brought, "setup.sh leaves out {:?}", recipe.source);
    }
}

/// The package with a program, in the short form of a table; `None` where no package is needed.
fn source(recipe: &Recipe) -> Option<String> {
    match recipe.source {
        Source::Debian(package) => Some(package.into()),
        Source::Setup(name) => Some(format!("--with {name}")),
        Source::Feature(_) => unreachable!("the tests are built with every engine"),
        Source::Page(_) => Some(format!("{} of its maker", recipe.program)),
        Source::Own => None,
    }
}

#[test]
fn the_sources_that_documents_name_are_there() {
    let chapters = ["bindings", "cache", "cli", "lab", "serve", "testkit"];
    let sources: Vec<_> = chapters.iter().flat_map(|name| sources_below(&path(name))).collect();
    let at_doors = chapters.map(|name| format!("{name}/README.md"));
    let of_root = ["ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned);
    for document in at_doors.iter().chain(&of_root) {
        let text = fs::read_to_string(path(document)).unwrap();
        // Every second piece between backticks is code.
        let named = text.split('`').skip(1).step_by(2).filter(|code| is_source(Path::new(code)));
        let named = named.filter(|name| !name.contains(['<', ' ']));
        let missing: Vec<_> =
            named.filter(|name| !sources.iter().any(|source| source.ends_with(name))).collect();
        assert!(missing.is_empty(), "{document} names {missing:?}, which no path ends with");
    }
}

fn page_of(engine: &Engine) -> String {
    let Engine { scheme, summary, example, .. } = engine;
    let mut text = format!("{HEAD}# {scheme}\n\n{summary}. Example: `{example}`\n");
    let options = engine.option_docs();
    text += if options.is_empty() { "\nIt has no options.\n" } else { "\n" };
    for option in options {
        let default = match option.default.as_str() {
            "" => String::new(),
            default => format!(" (default `{default}`)"),
        };
        writeln!(text, "- `{}`{default}: {}", option.name, option.text).unwrap();
    }
    if let Some(option) = engine.capacity_option {
        text += "\nA comparison gives a store of its own room for all keys and values, ";
        writeln!(text, "unless the URL says `{option}`.").unwrap();
    }
    if let Some(option) = engine.connections_option {
        text += "\nA comparison with many connections starts a server that takes them, ";
        writeln!(text, "unless the URL says `{option}`.").unwrap();
    }
    text
}

fn place(engine: &Engine) -> &'static str {
    match engine.medium {
        Medium::Nothing => "nothing",
        Medium::Memory => "memory",
        Medium::Files => "files",
        Medium::Tiers => "its tiers",
    }
}

/// Text for a cell of a table, where a bar would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Every Rust file below a folder.
fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|entry| if entry.is_dir() { sources_below(&entry) } else { vec![entry] })
        .filter(|entry| is_source(entry))
        .collect()
}

fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

fn compare(name: &str, page: &str) {
    if std::env::var_os("LARDER_BLESS").is_some() {
        fs::write(path(name), page).unwrap();
    }
    let written = fs::read_to_string(path(name)).unwrap_or_default();
    assert!(
        written == page,
        "{name} differs from the code; \
         `LARDER_BLESS=1 cargo test -p larder-cli --test generated` writes it again"
    );
}
