//! The package for Perl: its tests on each kind of store, CHI's own tests of drivers, and the example.

use std::process::Command;

use larder_testkit::{has_perl_modules, trial_where};
use libtest_mimic::Trial;

use super::place::{KINDS, Kind, Place, prefix, root, succeeds};

/// The modules of Debian's libffi-platypus-perl, libchi-perl and libtest-class-perl, and the caches of the example.
const MODULES: [&str; 1] = ["FFI::Platypus"];
const SUITE: [&str; 4] = ["FFI::Platypus", "CHI", "Test::Class", "Test::Deep"];
const EXAMPLE: [&str; 3] = ["FFI::Platypus", "Cache::FastMmap", "Cache::Memcached::Fast"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for kind in KINDS {
        trials.push(trial_of("store", kind, &MODULES));
        trials.push(trial_of("fork", kind, &MODULES));
    }
    trials.push(trial_of("tiered", Kind::Memcached, &MODULES));
    for kind in [Kind::File, Kind::Stack] {
        trials.push(trial_of("chi", kind, &SUITE));
    }
    let need = || Kind::Memcached.needs().and_then(|()| has_perl_modules(&EXAMPLE));
    trials.push(trial_where(need, "perl::the_example_of_tiers_runs", example_of_tiers));
    trials.push(trial_where(
        || has_perl_modules(&MODULES),
        "perl::the_example_of_the_page_runs",
        example_of_the_page,
    ));
    trials
}

/// A file of tests on a kind of store.
fn trial_of(file: &'static str, kind: Kind, modules: &'static [&'static str]) -> Trial {
    let need = move || kind.needs().and_then(|()| has_perl_modules(modules));
    trial_where(need, &format!("perl::{file}::{kind:?}"), move || {
        let place = Place::new(kind);
        let mut perl = perl();
        perl.env("LARDER_TEST_URL", place.url()).env("LARDER_TEST_KIND", kind.as_str());
        if kind.has_server() {
            perl.env("LARDER_TEST_SERVER", place.servers());
        }
        succeeds(perl.arg(format!("t/{file}.t")));
    })
}

/// Perl in the folder of the package, with the library as it is installed.
fn perl() -> Command {
    let mut perl = Command::new("perl");
    perl.current_dir(root().join("bindings/perl")).arg("-Ilib");
    perl.env("LARDER_LIBRARY", prefix().join("lib/liblarder.so"));
    perl
}

fn example_of_tiers() {
    let place = Place::new(Kind::Memcached);
    let server = place.server.as_ref().unwrap().address().clone();
    let output = succeeds(perl().args(["examples/tiers.pl", &server, "200"]));
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.lines().count(), 5, "{told}");
    assert!(told.lines().all(|line| line.contains(" s, 0 misses; ")), "{told}");
}

/// The program of the page tells what the page says.
fn example_of_the_page() {
    let page = std::fs::read_to_string(root().join("docs/perl.md")).unwrap();
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let place = Place::new(Kind::File);
    let program = block("perl").replace("mmap:/dev/shm/shop?size=64m", &place.url());
    let output = succeeds(perl().args(["-e", &program]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), block("text"));
}
