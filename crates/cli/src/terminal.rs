//! What is known of the terminal: its width, and whether it takes colours.

use std::io::{IsTerminal, stdout};

use anstream::{AutoStream, ColorChoice};
use larder_report::Style;

/// The width of a table where nobody says: a file, a pipe, a pull request.
const USUAL_WIDTH: usize = 120;

/// How standard output should be written to.
pub(crate) fn style() -> Style {
    let out = stdout();
    let colour = AutoStream::choice(&out) != ColorChoice::Never;
    let width = if out.is_terminal() {
        terminal_size::terminal_size().map_or(USUAL_WIDTH, |(width, _)| width.0.into())
    } else {
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(USUAL_WIDTH)
    };
    Style { colour, width }
}
