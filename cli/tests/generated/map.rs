//! The picture and the table of ARCHITECTURE.md, made of `architecture.toml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::architecture::{Architecture, path};
use super::compare;

const BEGIN: &str = "<!-- map -->\n";
const END: &str = "<!-- end of map -->";

#[test]
fn the_map_shows_every_crate_and_what_it_uses() {
    let page = std::fs::read_to_string(path("ARCHITECTURE.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let architecture = Architecture::read();
    let (picture, table) = (picture(&architecture), table(&architecture));
    compare("ARCHITECTURE.md", &format!("{before}{BEGIN}\n{picture}\n{table}\n{END}{after}"));
}

/// A picture in the language of Mermaid. Without the crate `testkit`, which is for tests; and without an arrow where two
/// others lead to the same crate, so that the eye can follow those that are left.
fn picture(architecture: &Architecture) -> String {
    let mut text = "```mermaid\nflowchart BT\n".to_owned();
    for chapter in &architecture.chapters {
        let names = architecture.crates_of(&chapter.name).map(|it| it.name.as_str());
        let names: Vec<_> = names.filter(|name| *name != "testkit").collect();
        match &names[..] {
            [] => {}
            [one] if *one == chapter.name => writeln!(text, "  {one}").unwrap(),
            _ => {
                let names = names.join("; ");
                writeln!(text, "  subgraph {}\n    {names}\n  end", chapter.name).unwrap();
            }
        }
    }
    for it in architecture.crates.iter().filter(|it| it.name != "testkit") {
        for used in &it.uses {
            let others = it.uses.iter().filter(|other| *other != used);
            if !others.into_iter().any(|other| reached(architecture, other).contains(used)) {
                writeln!(text, "  {} --> {used}", it.name).unwrap();
            }
        }
    }
    text + "```\n"
}

/// The crates that a crate uses, by way of others too.
fn reached(architecture: &Architecture, name: &str) -> BTreeSet<String> {
    let it = architecture.crates.iter().find(|it| it.name == name);
    let uses = &it.unwrap_or_else(|| panic!("no crate is called {name}")).uses;
    uses.iter()
        .flat_map(|used| &reached(architecture, used) | &BTreeSet::from([used.clone()]))
        .collect()
}

fn table(architecture: &Architecture) -> String {
    let mut text = String::new();
    for chapter in &architecture.chapters {
        let heading = format!("### [{0}/]({0}/README.md)", chapter.name);
        writeln!(text, "{heading}\n\n{}.\n", capitalized(&chapter.is)).unwrap();
        text += "| crate | what it is | may use | its tests also |\n|---|---|---|---|\n";
        for it in architecture.crates_of(&chapter.name) {
            let [uses, in_tests] = [&it.uses, &it.in_tests].map(listed);
            writeln!(text, "| `{}` | {} | {uses} | {in_tests} |", it.name, it.is).unwrap();
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// A text with a large first letter, unless it begins with code.
fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

fn listed(names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "–".into();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
