//! The uses between crates, and between the modules of a crate: the code keeps to `architecture.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::architecture::{Architecture, path};

/// Larder's crates in a table of a manifest: `dependencies` or `dev-dependencies`.
fn uses(manifest: &toml::Table, table: &str) -> BTreeSet<String> {
    let names =
        manifest.get(table).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
    names.filter_map(|name| short(name)).map(str::to_owned).collect()
}

/// The name of one of Larder's crates without `larder-`. The crate that programs use is called `larder` alone.
fn short(package: &str) -> Option<&str> {
    if package == "larder" { Some("library") } else { package.strip_prefix("larder-") }
}

#[test]
fn crates_use_only_the_crates_that_they_may() {
    let crates = Architecture::read().crates;
    for it in &crates {
        let manifest = fs::read_to_string(path(&it.folder).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let name = manifest["package"]["name"].as_str().and_then(short);
        assert_eq!(name, Some(it.name.as_str()), "{}", it.folder);
        assert_eq!(uses(&manifest, "dependencies"), it.uses, "{}", it.name);
        let in_tests = &uses(&manifest, "dev-dependencies") - &it.uses;
        assert_eq!(in_tests, it.in_tests, "the tests of {}", it.name);
    }
}

#[test]
fn every_crate_of_the_workspace_stands_in_the_list() {
    let architecture = Architecture::read();
    let manifest: toml::Table = fs::read_to_string(path("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter();
    let folders = members.flat_map(|member| {
        let member = member.as_str().unwrap();
        let Some(chapter) = member.strip_suffix("/*") else { return vec![member.to_owned()] };
        let entries = fs::read_dir(path(chapter)).unwrap().map(|entry| entry.unwrap());
        let crates = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
        crates.map(|it| format!("{chapter}/{}", it.file_name().display())).collect()
    });
    let listed = architecture.crates.iter().map(|it| it.folder.clone());
    assert_eq!(folders.collect::<BTreeSet<_>>(), listed.collect());
    for it in &architecture.crates {
        let chapter = it.folder.split('/').next().unwrap();
        assert!(architecture.chapters.iter().any(|known| known.name == chapter), "{}", it.folder);
    }
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
    let re_exports = re_exports(&path("lab/bench/src/lib.rs"));
    let module = |name| re_exports.get(name).map(String::as_str);
    assert_eq!((module("Error"), module("Outcome")), (Some("error"), Some("compare")));
}

#[test]
fn modules_use_only_modules_of_earlier_layers() {
    let architecture = Architecture::read();
    let held = ["bench", "host", "record", "segment", "server", "testkit", "tiers", "top"];
    assert!(architecture.layers.keys().eq(held), "the crates with layers");
    for (name, layers) in &architecture.layers {
        let it = architecture.crates.iter().find(|it| it.name == *name);
        let it = it.unwrap_or_else(|| panic!("no crate is called {name}"));
        let wrong = wrong_uses(&path(&it.folder).join("src"), layers);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

/// The uses of modules that stand in the same layer as the user or in a later one.
fn wrong_uses(sources_of: &Path, layers: &[Vec<String>]) -> Vec<String> {
    let root = sources_of.join("lib.rs");
    let (re_exports, of_root) = (re_exports(&root), code(&root));
    let layer = |module: &str| layers.iter().position(|layer| layer.iter().any(|it| it == module));
    let (mut wrong, mut modules) = (Vec::new(), BTreeSet::new());
    for entry in fs::read_dir(sources_of).unwrap() {
        let entry = entry.unwrap().path();
        let module = entry.file_stem().unwrap().to_str().unwrap();
        if module == "lib" {
            continue;
        }
        let own = layer(module).unwrap_or_else(|| panic!("`{module}` stands in no layer"));
        let mut found = Vec::new();
        sources(&entry, &mut found);
        for (file, text) in found {
            for used in text.split("crate::").skip(1).flat_map(first_words) {
                let used = re_exports.get(used).map_or(used, String::as_str);
                // A constant of the root belongs to no module.
                if of_root.contains(&format!("const {used}:")) {
                    continue;
                }
                if used != module && layer(used).is_none_or(|layer| layer >= own) {
                    wrong.push(format!("{} uses {used}", file.display()));
                }
            }
        }
        // A module may be a file and a folder of its name.
        modules.insert(module.to_owned());
    }
    let n_listed = layers.iter().flatten().count();
    assert_eq!(modules.len(), n_listed, "a layer names a module that is gone");
    wrong
}
