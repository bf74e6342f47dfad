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

/// The item that a path names first; after `crate::` or after a brace of a group.
fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap()
}

/// The entries of a group such as `{a::{B, C}, d}`, of which the text begins with the brace.
fn group(text: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let (mut depth, mut start) = (0, 1);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                entries.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            entries.push(&text[start..at]);
            break;
        }
    }
    entries
}

/// The first names after each `crate::` of a source, groups included, without its comments.
fn used_of_crate(source: &str) -> Vec<String> {
    let code = source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let code = code.collect::<Vec<_>>().join("\n");
    let paths = code.split("crate::").skip(1);
    let names = paths.flat_map(|path| {
        let paths = if path.starts_with('{') { group(path) } else { vec![path] };
        paths.into_iter().map(first_name).map(str::to_owned).collect::<Vec<_>>()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The module of each item that `lib.rs` names again, so that `crate::Item` is a use of that module.
fn named_again() -> BTreeMap<String, String> {
    let lib = fs::read_to_string(path("crates/bench/src/lib.rs")).unwrap();
    let uses = lib.split("\npub use ").skip(1).map(|rest| rest.split_once(';').unwrap().0);
    let pairs = uses.flat_map(|of| {
        let (module, items) = of.split_once("::").unwrap();
        let items = if items.starts_with('{') { group(items) } else { vec![items] };
        items.into_iter().map(|item| (first_name(item).to_owned(), module.to_owned()))
    });
    pairs.collect()
}

#[test]
fn modules_of_bench_use_only_modules_of_earlier_layers() {
    let layers = layers();
    let named_again = named_again();
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
            for used in used_of_crate(&text) {
                let used = named_again.get(&used).unwrap_or(&used);
                let layer = layers.get(used);
                if used != module && layer.is_none_or(|layer| *layer >= own) {
                    wrong.push(format!("{} uses {used}", file.display()));
                }
            }
        }
    }
    assert!(layers.len() > 15 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_use_is_seen_in_every_form() {
    let source = "use crate::{plan::{Plan, spec}, usage};\nfn f() -> crate::Error { crate::memory::x() } // crate::no\n";
    assert_eq!(used_of_crate(source), ["plan", "usage", "Error", "memory"]);
    assert_eq!(named_again()["Error"], "error");
    assert_eq!(named_again()["Outcome"], "compare");
}
