//! What a client says and what the server answers, as lines of a file.
//!
//! A line that begins with `> ` is sent; one that begins with `< ` must come. `{n}` stands for any number, and `{k*251}`
//! for 251 letters k.

use std::net::SocketAddr;

use larder_store::Capabilities;

use super::Client;

/// A file of requests and answers, which begins with an empty store.
pub struct Transcript {
    pub name: &'static str,
    text: &'static str,
    /// Whether stores of these capabilities have all of its requests.
    pub suits: fn(&Capabilities) -> bool,
}

fn every(_: &Capabilities) -> bool {
    true
}

/// Each transcript, which passes on the real memcached too.
pub const TRANSCRIPTS: &[Transcript] = &[
    Transcript {
        name: "storage",
        text: include_str!("../transcripts/storage.txt"),
        suits: |able| able.flags && able.version,
    },
    Transcript {
        name: "reading",
        text: include_str!("../transcripts/reading.txt"),
        suits: |able| able.flags,
    },
    Transcript { name: "numbers", text: include_str!("../transcripts/numbers.txt"), suits: every },
    Transcript {
        name: "lifetimes",
        text: include_str!("../transcripts/lifetimes.txt"),
        suits: |able| able.clear,
    },
    Transcript { name: "faults", text: include_str!("../transcripts/faults.txt"), suits: every },
    Transcript {
        name: "meta",
        text: include_str!("../transcripts/meta.txt"),
        suits: |able| able.flags && able.version && able.ttl_left,
    },
    Transcript {
        name: "meta_leases",
        text: include_str!("../transcripts/meta_leases.txt"),
        suits: |able| able.leases && able.ttl_left,
    },
    Transcript {
        name: "meta_recache",
        text: include_str!("../transcripts/meta_recache.txt"),
        suits: |able| able.ttl_left,
    },
    Transcript {
        name: "meta_quiet",
        text: include_str!("../transcripts/meta_quiet.txt"),
        suits: every,
    },
    Transcript {
        name: "meta_faults",
        text: include_str!("../transcripts/meta_faults.txt"),
        suits: every,
    },
    Transcript { name: "others", text: include_str!("../transcripts/others.txt"), suits: every },
];

impl Transcript {
    /// Says what the transcript says, and expects what it expects.
    pub fn follow(&self, address: SocketAddr) {
        let mut client = Client::connect(address);
        let mut requests = String::new();
        let lines = self.text.lines().enumerate();
        for (i, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let text = expanded(line.get(2..).unwrap_or_default());
            if line.starts_with('>') {
                requests += &text;
                requests += "\r\n";
                continue;
            }
            client.send(std::mem::take(&mut requests).as_bytes());
            let answer = client.line();
            let place = format!("line {} of {}", i + 1, self.name);
            assert!(fits(&text, &answer), "{place}: `{answer}` in place of `{text}`");
        }
        // Nothing more has come.
        client.send(requests.as_bytes());
        assert_eq!(client.ask("mn"), "MN");
    }
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
pub fn fits(expected: &str, answer: &str) -> bool {
    let Some((before, after)) = expected.split_once("{n}") else { return expected == answer };
    let Some(rest) = answer.strip_prefix(before) else { return false };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits > 0 && fits(after, &rest[digits..])
}
