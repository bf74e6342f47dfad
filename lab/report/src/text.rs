//! Plain text for a terminal: made harmless, wrapped, shortened. Widths are counted in characters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The units that stay on the line of their number.
const UNITS: [&str; 16] = [
    "%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB", "/s", "k/s", "M/s",
    "G/s",
];

/// Whether a character controls the terminal instead of being shown: a control character, or one that changes the
/// direction of the text around it, breaks the line, or has no width.
pub fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Replaces all characters that [`steers`] names: neither a server's message nor a label may control the reader's
/// terminal.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(steers) { text.replace(steers, " ").into() } else { text.into() }
}

/// The number of characters.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Breaks text into lines at its spaces. A figure stays with its unit; a word longer than the line stands alone.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let text = clean(text);
    let mut lines: Vec<String> = Vec::new();
    for piece in unbroken(&text) {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(&piece) <= limit => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    lines
}

/// The words of a text; each unit is joined to the number before it, and a probability to its letter.
fn unbroken(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut pieces: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let length = together(&words[at..]);
        pieces.push(words[at..at + length].join(" "));
        at += length;
    }
    pieces
}

/// The text with a capital at its beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}

/// The number of leading words that belong on one line: a number and its unit, or `p = 0.034`.
pub(crate) fn together(words: &[&str]) -> usize {
    match words {
        [p, "=" | "<", _, ..] if p.trim_start_matches('(') == "p" => 3,
        [number, unit, ..] => {
            let unit = unit.trim_end_matches([',', ';', '.', ':', ')', ']']);
            let is_number = number.ends_with(|c: char| c.is_ascii_digit());
            if is_number && UNITS.contains(&unit) { 2 } else { 1 }
        }
        _ => 1,
    }
}

/// Shortens text in its middle: both ends of a URL say more than its middle.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let length = width(text);
    if length <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(1);
    let head: String = text.chars().take(kept.div_ceil(2)).collect();
    let tail: String = text.chars().skip(length - kept / 2).collect();
    format!("{head}…{tail}")
}

/// Names as a table or a picture has room for them. Different names stay different: those that would look alike keep the
/// part in which they differ, and where that does not tell them apart, all names get more room.
#[derive(Debug, Default)]
pub struct ShortNames(BTreeMap<String, String>);

impl ShortNames {
    /// The names, of about `limit` characters at most.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, limit: usize) -> Self {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let told_apart = (limit..longest).find_map(|limit| told_apart(&names, limit));
        Self(told_apart.unwrap_or_else(|| {
            names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect()
        }))
    }

    /// The short form of a name; the name itself where it was not among them.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// The width of the longest.
    pub(crate) fn width(&self) -> usize {
        self.0.values().map(|short| width(short)).max().unwrap_or(0)
    }
}

/// The names with their short forms; `None` where two of these are equal.
fn told_apart(names: &BTreeSet<&str>, limit: usize) -> Option<BTreeMap<String, String>> {
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in names {
        alike.entry(shorten(name, limit)).or_default().push(name);
    }
    let mut shorts = BTreeMap::new();
    for (short, names) in alike {
        match names.as_slice() {
            [name] => drop(shorts.insert((*name).to_owned(), short)),
            names => shorts.extend(
                names
                    .iter()
                    .map(|name| ((*name).to_owned(), around_difference(name, names, limit))),
            ),
        }
    }
    let distinct: BTreeSet<&String> = shorts.values().collect();
    (distinct.len() == shorts.len()).then_some(shorts)
}

/// The part of a name around its difference from others that begin and end like it: `…d-east…`.
fn around_difference(name: &str, others: &[&str], limit: usize) -> String {
    let name: Vec<char> = name.chars().collect();
    let shared =
        |other: &&str| name.iter().zip(other.chars()).take_while(|(a, b)| **a == *b).count();
    let others = others.iter().filter(|other| !other.chars().eq(name.iter().copied()));
    let begins = others.map(shared).min().unwrap_or(0);
    // A sign at each end stands for what is left out there.
    let kept = limit.saturating_sub(2).min(name.len());
    let from = begins.saturating_sub(kept / 3).min(name.len() - kept);
    let part: String = name[from..from + kept].iter().collect();
    let [before, after] =
        [from > 0, from + kept < name.len()].map(|cut| if cut { "…" } else { "" });
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_but_never_inside_a_figure() {
        assert_eq!(wrap("it took 12.0 ms, or more", 12), ["it took", "12.0 ms, or", "more"]);
        assert_eq!(wrap("a is 2× as fast (p = 0.0087)", 20), ["a is 2× as fast", "(p = 0.0087)"]);
        assert_eq!(wrap("as fast, p < 0.001; at", 12), ["as fast,", "p < 0.001;", "at"]);
        assert_eq!(wrap("p", 12), ["p"]);
        assert_eq!(wrap("a-very-long-word b", 4), ["a-very-long-word", "b"]);
        assert!(wrap(" ", 10).is_empty());
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(clean("a\x1b[31m\nb"), "a [31m b");
        assert_eq!(clean("a\u{202e}b"), "a b");
        assert!(matches!(clean("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_shortened_text_keeps_both_ends() {
        assert_eq!(shorten("memcached://h1:11211", 11), "memca…11211");
        assert_eq!(shorten("moka:", 5), "moka:");
        assert_eq!(shorten("moka:", 1), "…");
        assert_eq!(shorten("moka:", 0), "…");
    }

    #[test]
    fn shortened_names_are_as_different_as_the_names() {
        let shown = |names: &[&str], limit| {
            let short = ShortNames::new(names.iter().copied(), limit);
            names.iter().map(|name| short.of(name).to_owned()).collect::<Vec<_>>()
        };
        let two = ["prod-east-cache", "prod-west-cache"];
        assert_eq!(shown(&two, 8), ["…d-east…", "…d-west…"]);
        assert_eq!(shown(&two, 20), two);
        assert_eq!(shown(&["memcached://h1:11211", "moka:"], 11), ["memca…11211", "moka:"]);
        // One difference per pair, far apart: no window of eight characters has both.
        let far = ["a-1-bbbbbbbb-1-c", "a-2-bbbbbbbb-1-c", "a-1-bbbbbbbb-2-c", "moka:"];
        for limit in 0..20 {
            let short = shown(&far, limit);
            let distinct: BTreeSet<&String> = short.iter().collect();
            assert_eq!(distinct.len(), far.len(), "{limit}: {short:?}");
        }
        assert_eq!(shown(&["moka:", "moka:"], 2), ["m…", "m…"]);
    }
}
