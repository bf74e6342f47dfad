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
        found.push((module.to_owned(), code(module)));
    }
}

/// The code of a source, without its tests and its comments: a comment may point anywhere.
fn code(source: &Path) -> String {
    let text = fs::read_to_string(source).unwrap();
    let text = text.split_once("#[cfg(test)]\nmod tests").map_or(&*text, |(code, _)| code);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The first word of a path; empty where no word is there.
fn word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// The first word of each path in a group, `a::B, c::{D, E}` up to its closing brace; of one path the first word.
fn first_words(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut depth, mut begins, mut words) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            ',' | '}' if depth == 0 => {
                words.push(word(&group[begins..at]));
                begins = at + 1;
                if c == '}' {
                    break;
                }
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    // A group may end with a comma.
    words.retain(|word| !word.is_empty());
    words
}

/// The module of each name that the root of a crate re-exports.
fn re_exports(root: &Path) -> BTreeMap<String, String> {
    let code = code(root);
    let uses =
        code.split("use ").skip(1).filter_map(|text| text.split_once(';')?.0.split_once("::"));
    let names = uses.flat_map(|(module, names)| {
        first_words(names).into_iter().map(|name| (name.to_owned(), module.to_owned()))
    });
    names.collect()
}

#[test]
fn groups_and_names_of_the_root_count_as_uses() {
    assert_eq!(first_words("plan::{Plan, point::At};"), ["plan"]);
    assert_eq!(first_words("Error>;"), ["Error"]);
    let group = "{\n    Error, plan::{Plan, point::{At, To}},\n    usage,\n};\nuse std::{fs, io};";
    assert_eq!(first_words(group), ["Error", "plan", "usage"]);
    let re_exports = re_exports(&path("crates/bench/src/lib.rs"));
    let module = |name| re_exports.get(name).map(String::as_str);
    assert_eq!((module("Error"), module("Outcome")), (Some("error"), Some("compare")));
}

#[test]
fn modules_of_bench_use_only_modules_of_earlier_layers() {
    let (layers, re_exports) = (layers(), re_exports(&path("crates/bench/src/lib.rs")));
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
            for used in text.split("crate::").skip(1).flat_map(first_words) {
                let used = re_exports.get(used).map_or(used, String::as_str);
                let layer = layers.get(used);
                if used != module && layer.is_none_or(|layer| *layer >= own) {
                    wrong.push(format!("{} uses {used}", file.display()));
                }
            }
        }
    }
    assert!(layers.len() > 15 && wrong.is_empty(), "{wrong:#?}");
}
