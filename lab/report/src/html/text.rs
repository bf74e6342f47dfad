//! Texts of the page: names set off, figures kept on one line, numbers in groups.

use maud::{Markup, PreEscaped, html};

use crate::model::Run;
use crate::text::{capital, together};

/// A text of the report as a sentence of the page. A name at its beginning stays unchanged.
pub(super) fn sentence(run: &Run, text: &str) -> Markup {
    let named = run.targets.iter().any(|target| text.starts_with(target.name.as_str()));
    let text = if named { text.to_owned() } else { capital(text) };
    html! { (with_names(run, &text, |name| html! { b { (name) } })) "." }
}

/// The text with the names of targets as `set_off` writes them, and its figures unbroken.
pub(super) fn with_names(run: &Run, text: &str, set_off: impl Fn(&str) -> Markup) -> Markup {
    let mut names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    // The longest names come first, so that a name that begins with another is found as a whole.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.retain(|name| !name.is_empty());
    let (mut markup, mut plain, mut rest) = (String::new(), String::new(), text);
    while let Some(character) = rest.chars().next() {
        let begins = plain.chars().next_back().is_none_or(|c| c.is_whitespace() || c == '(');
        let ends = |after: &str| {
            // A colon within a word belongs to an address.
            let after = after.strip_prefix(':').unwrap_or(after);
            after.chars().next().is_none_or(|c| c.is_whitespace() || ",;.()".contains(c))
        };
        let found = names.iter().find(|name| begins && rest.strip_prefix(**name).is_some_and(ends));
        if let Some(name) = found {
            markup.push_str(&unbroken(&plain).into_string());
            markup.push_str(&set_off(name).into_string());
            plain.clear();
            rest = &rest[name.len()..];
        } else {
            plain.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    markup.push_str(&unbroken(&plain).into_string());
    PreEscaped(markup)
}

/// The text with each interval, each number with its unit and each probability on one line.
pub(crate) fn unbroken(text: &str) -> Markup {
    let words: Vec<&str> = text.split(' ').collect();
    let mut at = 0;
    let mut pieces: Vec<(bool, String)> = Vec::new();
    while at < words.len() {
        let length = together(&words[at..]);
        let is_interval = words[at].contains('[') && words[at].contains('–');
        pieces.push((length > 1 || is_interval, words[at..at + length].join(" ")));
        at += length;
    }
    html! {
        @for (at, (together, piece)) in pieces.iter().enumerate() {
            @if at > 0 { " " }
            @if *together { span.nb { (piece) } } @else { (piece) }
        }
    }
}

/// A whole number in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_set_off_as_a_whole_only() {
        let run =
            crate::Run::from_json(include_str!("../../tests/fixture/run.json")).expect("a run");
        let said = |text: &str| with_names(&run, text, |name| html! { b { (name) } }).into_string();
        assert_eq!(said("lmdb: leads (file)"), "<b>lmdb:</b> leads (<b>file</b>)");
        assert_eq!(said("profile, files"), "profile, files");
        assert_eq!(said("<file>"), "&lt;file&gt;");
        assert_eq!(said("file: no room"), "<b>file</b>: no room");
        assert_eq!(said("at file:/tmp"), "at file:/tmp");
    }

    #[test]
    fn figures_stay_in_one_line() {
        let text = unbroken("takes 131 ns to 88.4 µs, 1.2× [1.1–1.3] or 7 of 9").into_string();
        let together = r#"takes <span class="nb">131 ns</span> to <span class="nb">88.4 µs,</span> 1.2× <span class="nb">[1.1–1.3]</span> or 7 of 9"#;
        assert_eq!(text, together);
        let text = unbroken("apart (p = 0.0087), or p").into_string();
        assert_eq!(text, r#"apart <span class="nb">(p = 0.0087),</span> or p"#);
    }

    #[test]
    fn numbers_stand_in_groups_of_three() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
    }
}
