//! The uses between crates, and between the modules of `bench`: the code keeps to ARCHITECTURE.md.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The part of ARCHITECTURE.md that has both lists.
fn section() -> String {
    let page = fs::read_to_string(path("ARCHITECTURE.md")).unwrap();
    let (_, rest) = page.split_once("\n## The crates\n").unwrap();
    rest.split_once("\n## ").unwrap().0.to_owned()
}

/// The words of a line that stand between backticks.
fn named(line: &str) -> BTreeSet<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Larder's crates among the dependencies of a manifest, without the dev-dependencies.
fn uses(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = fs::read_to_string(path(manifest)).unwrap().parse().unwrap();
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let names = dependencies.into_iter().flat_map(toml::Table::keys);
    names.filter_map(|name| name.strip_prefix("larder-")).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_the_crates_that_they_may() {
    let mut allowed = BTreeMap::new();
    for line in section().lines().filter(|line| line.starts_with("| `")) {
        let [_, crates, uses, _] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("no row of two columns: {line}")
        };
        allowed.extend(named(crates).into_iter().map(|name| (name, named(uses))));
    }
    let folders = fs::read_dir(path("crates")).unwrap();
    let crates = folders.map(|it| it.unwrap().file_name().into_string().unwrap());
    let found = crates.map(|name| {
        let uses = uses(&format!("crates/{name}/Cargo.toml"));
        (name, uses)
    });
    assert_eq!(found.collect::<BTreeMap<_, _>>(), allowed);
}

/// The number of each module's layer.
fn layers() -> BTreeMap<String, usize> {
    let section = section();
    let is_layer = |line: &&str| {
        line.split_once(". `").is_some_and(|(number, _)| number.parse::<usize>().is_ok())
    };
    let layers = section.lines().filter(is_layer).zip(1..);
    layers
        .flat_map(|(line, layer)| named(line).into_iter().map(move |name| (name, layer)))
        .collect()
}

/// Every source of a module, without its tests.
fn sources(module: &Path, found: &mut Vec<(PathBuf, String)>) {
    if module.is_dir() {
        let files = fs::read_dir(module).unwrap().map(|it| it.unwrap().path());
        files.for_each(|file| sources(&file, found));
    } else if !module.ends_with("tests.rs") {
        let text = fs::read_to_string(module).unwrap();
        let text = text.split_once("#[cfg(test)]\nmod tests").map_or(&*text, |(code, _)| code);
        found.push((module.to_owned(), text.to_owned()));
    }
}

#[test]
fn modules_of_bench_use_no_module_of_a_later_layer() {
    let layers = layers();
    let mut wrong = Vec::new();
    for entry in fs::read_dir(path("crates/bench/src")).unwrap() {
        let entry = entry.unwrap().path();
        let module = entry.file_stem().unwrap().to_str().unwrap();
        if module == "lib" {
            continue;
        }
        let own = *layers.get(module).unwrap_or_else(|| panic!("`{module}` stands in no layer"));
        let mut found = Vec::new();
        sources(&entry, &mut found);
        for (file, text) in found {
            for used in text.split("crate::").skip(1) {
                let used = used.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
                let layer = used.and_then(|used| layers.get(used));
                if layer.is_some_and(|layer| *layer > own) {
                    wrong.push(format!("{} uses {}", file.display(), used.unwrap()));
                }
            }
        }
    }
    assert!(layers.len() > 15 && wrong.is_empty(), "{wrong:#?}");
}
