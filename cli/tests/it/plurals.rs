//! One thing of each kind: no line of any command counts it as several.

use crate::scene::Scene;
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] =
    &[(NOTHING, "one_thing_is_never_counted_as_several", one_of_everything)];

/// Nouns that messages and reports count.
const NOUNS: &[&str] = &[
    "bytes",
    "candidates",
    "caches",
    "charts",
    "checks",
    "comparisons",
    "connections",
    "cores",
    "deletes",
    "different keys",
    "entries",
    "errors",
    "files",
    "findings",
    "keys",
    "lines",
    "messages",
    "misses",
    "notes",
    "operations",
    "packets",
    "points",
    "processes",
    "processors",
    "reads",
    "recorded reads",
    "recorded sets",
    "requests",
    "rounds",
    "rows",
    "scenarios",
    "segments",
    "sentences",
    "sets",
    "sizes",
    "targets",
    "threads",
    "times",
    "turns",
    "values",
    "warnings",
    "writes",
];

/// The places at which a text has `1` before the noun of several.
fn miscounted(text: &str) -> Vec<String> {
    let text = unwrapped(text);
    let mut found = Vec::new();
    for noun in NOUNS {
        let counted = format!("1 {noun}");
        for (at, _) in text.match_indices(&counted) {
            let before = text[..at].chars().next_back();
            let after = text[at + counted.len()..].chars().next();
            let is_number = before.is_none_or(|it| !it.is_alphanumeric() && !".,-×".contains(it));
            if is_number && after.is_none_or(|it| !it.is_alphanumeric() && it != '_') {
                let from = text[..at].char_indices().rev().nth(30).map_or(0, |(from, _)| from);
                found.push(text[from..at + counted.len()].trim().to_owned());
            }
        }
    }
    found
}

/// The text with its wrapped lines in one: a long line goes on in the next, which is indented.
fn unwrapped(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let goes_on = line.starts_with(' ') && lines.lines().last().is_some_and(|it| it.len() > 90);
        lines.push(if goes_on { ' ' } else { '\n' });
        lines.push_str(line.trim_start());
    }
    lines
}

fn one_of_everything() {
    assert_eq!(miscounted("of 1 keys, 11 keys and 0.1 points, 1 key"), ["of 1 keys"]);
    let scene = Scene::new();
    scene.write(
        "one.csv",
        "time,key,op,size,ttl,result\n0,a,get,,,miss\n0,a,set,9,5,stored\n60,a,get,,,miss\n",
    );
    scene.write("read.csv", "key,op\na,get\na,get\n");
    scene.write("alone.csv", "key,op,size\na,get,9\n");
    let mut found = Vec::new();
    for command in [
        "trace info one.csv",
        "trace info alone.csv",
        "trace info read.csv --format markdown",
        "trace convert alone.csv new.csv",
        "trace convert one.csv one.oracleGeneral",
        "advise read.csv memory: -r 1 --overwrite -o advice",
        "advise alone.csv memory: --overwrite -o advice",
        "compare memory: -k 1 -r 1 -d 1 -o out",
        "compare memory: moka: -k 1 -r 1 --requests 1 --ratio 1:1 -o out",
        "compare memory: --keys-from trace:one.csv --on-miss fill -r 1 -o out",
        "compare memory: -k 1 -r 1 --dry-run",
        "report out --format markdown",
        "set lmdb:store a value",
        "backup lmdb:store one.backup",
        "restore one.backup memory:",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let answer = scene.larder(&words);
        answer.ends_with(i32::from(command.contains("advise alone.csv")));
        for text in [&answer.out, &answer.err] {
            found.extend(miscounted(text).into_iter().map(|it| format!("{command}: {it}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
