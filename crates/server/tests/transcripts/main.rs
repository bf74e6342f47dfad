//! What a client says and what the server answers: each transcript passes on this server and on the real memcached.
//!
//! A line that begins with `> ` is sent; one that begins with `< ` must come. `{n}` stands for any number, and `{k*251}`
//! for 251 letters k.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "../support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};
use support::{Client, Serving, lasting, settings, store};

const TRANSCRIPTS: &[(&str, &str)] = &[
    ("storage", include_str!("storage.txt")),
    ("reading", include_str!("reading.txt")),
    ("numbers", include_str!("numbers.txt")),
    ("lifetimes", include_str!("lifetimes.txt")),
    ("faults", include_str!("faults.txt")),
    ("meta", include_str!("meta.txt")),
    ("meta_quiet", include_str!("meta_quiet.txt")),
    ("meta_faults", include_str!("meta_faults.txt")),
    ("others", include_str!("others.txt")),
];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (name, transcript) in TRANSCRIPTS {
        trials.push(Trial::test(format!("{name}::larder"), move || {
            let serving = Serving::start("memory:?size=16m", settings());
            follow(serving.address, transcript);
            Ok(())
        }));
        trials.push(Trial::test(format!("{name}::larder_with_assistants"), move || {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
            let serving = Serving::start(&url, settings());
            follow(serving.address, transcript);
            Ok(())
        }));
        trials.push(Trial::test(format!("{name}::larder_with_both"), move || {
            follow(Serving::of(lasting(), settings()).address, transcript);
            Ok(())
        }));
        trials.push(trial_where(memcached, &format!("{name}::memcached"), move || {
            let store = store("memcached:");
            follow(store.info().addresses[0].parse().unwrap(), transcript);
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Says what the transcript says, and expects what it expects.
fn follow(address: SocketAddr, transcript: &str) {
    let mut client = Client::connect(address);
    let mut requests = String::new();
    let lines = transcript.lines().enumerate();
    for (i, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let text = expanded(line.get(2..).unwrap_or_default());
        if line.starts_with('>') {
            requests += &text;
            requests += "\r\n";
            continue;
        }
        client.send(std::mem::take(&mut requests).as_bytes());
        let answer = client.line();
        assert!(fits(&text, &answer), "line {}: `{answer}` in place of `{text}`", i + 1);
    }
    // Nothing more has come.
    client.send(requests.as_bytes());
    assert_eq!(client.ask("mn"), "MN");
}

/// The text with its `{k*251}` written out.
fn expanded(text: &str) -> String {
    let Some((before, (word, after))) =
        text.split_once("{k*").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return text.to_owned();
    };
    format!("{before}{}{}", "k".repeat(word.parse().unwrap()), expanded(after))
}

/// Whether an answer is as expected.
fn fits(expected: &str, answer: &str) -> bool {
    let Some((before, after)) = expected.split_once("{n}") else { return expected == answer };
    let Some(rest) = answer.strip_prefix(before) else { return false };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 0 && fits(after, &rest[digits..])
}
