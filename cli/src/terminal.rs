//! The properties of the terminal: its width, and whether it takes colours and more than ASCII.

use std::io::{IsTerminal, stdout};

use anstream::{AutoStream, ColorChoice};
use larder_report::Style;

/// The width of a terminal that does not tell its own.
const USUAL_WIDTH: usize = 120;

/// The style for writing to standard output. A file or a pipe has no edge, unless `COLUMNS` gives it one.
pub(crate) fn style() -> Style {
    let out = stdout();
    let colour = AutoStream::choice(&out) != ColorChoice::Never;
    let width = if out.is_terminal() {
        terminal_size::terminal_size().map_or(USUAL_WIDTH, |(width, _)| width.0.into())
    } else {
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(Style::NO_EDGE)
    };
    Style { colour, width }
}

/// Whether standard output is a terminal that shows more than ASCII.
pub(crate) fn draws_unicode() -> bool {
    stdout().is_terminal() && speaks_unicode()
}

/// Whether the locale is one in which bytes beyond ASCII are UTF-8.
pub(crate) fn speaks_unicode() -> bool {
    is_unicode(|name| std::env::var(name).ok())
}

/// The first variable that is set decides, as in C.
fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        for (variables, unicode) in [
            (&[][..], false),
            (&[("LANG", "en_GB.UTF-8")], true),
            (&[("LANG", "C.utf8")], true),
            (&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LANG", "POSIX"), ("LC_CTYPE", "de_DE.UTF-8"), ("LC_ALL", "")], true),
            (&[("LC_CTYPE", "ja_JP.eucJP"), ("LANG", "ja_JP.UTF-8")], false),
        ] {
            let find = |name: &str| {
                let found = variables.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(is_unicode(find), unicode, "{variables:?}");
        }
    }
}
