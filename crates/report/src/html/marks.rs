//! The marks of the targets and the signs of the checks, drawn once and used everywhere by their names.

use maud::{Markup, html};

use crate::chart::palette::{COLOURS, Mark, mark};
use crate::model::Severity;

/// The shapes that the page uses, hidden at its head.
pub(super) fn sprites() -> Markup {
    let marks = [
        (Mark::Circle, "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11z"),
        (Mark::Square, "M3 3h10v10H3z"),
        (Mark::Up, "M8 2l6.2 11.5H1.8z"),
        (Mark::Diamond, "M8 1.2L14.8 8L8 14.8L1.2 8z"),
        (Mark::Down, "M8 14l6.2-11.5H1.8z"),
        (
            Mark::Cross,
            "M4.2 2L8 5.8L11.8 2L14 4.2L10.2 8L14 11.8L11.8 14L8 10.2L4.2 14L2 11.8L5.8 8L2 4.2z",
        ),
        (Mark::Plus, "M6.4 1.5h3.2v4.9h4.9v3.2H9.6v4.9H6.4V9.6H1.5V6.4h4.9z"),
    ];
    let signs = [
        (Severity::Error, "M5 1h6l4 4v6l-4 4H5l-4-4V5z", "M5.5 5.5l5 5m0-5l-5 5"),
        (Severity::Warn, "M8 1.2l7.3 13.3H.7z", "M8 6v4m0 1.6v1.4"),
        (Severity::Note, "M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14z", "M8 4v1.5m0 2v4.5"),
    ];
    html! {
        svg.sprites aria-hidden="true" width="0" height="0" {
            @for (mark, path) in marks {
                symbol id={ "mark-" (name(mark)) } viewBox="0 0 16 16" { path d=(path) fill="currentColor" {} }
            }
            @for (severity, shape, sign) in signs {
                symbol id={ "sign-" (severity.as_str()) } viewBox="0 0 16 16" {
                    path d=(shape) fill="currentColor" {}
                    path.in-sign d=(sign) fill="none" stroke-width="1.8" {}
                }
            }
        }
    }
}

/// The mark of a target, in its colour. Its name always stands beside it.
pub(super) fn of_target(number: Option<usize>) -> Markup {
    html! {
        @if let Some(number) = number {
            svg class={ "mark s" (number % COLOURS) } aria-hidden="true" {
                use href={ "#mark-" (name(mark(number))) } {}
            }
        }
    }
}

/// The sign of a severity. Its word stands beside it, or in it for those who do not see it.
pub(super) fn of_severity(severity: Severity) -> Markup {
    html! {
        svg class={ "sign " (severity.as_str()) } aria-hidden="true" {
            use href={ "#sign-" (severity.as_str()) } {}
        }
    }
}

fn name(mark: Mark) -> &'static str {
    match mark {
        Mark::Circle => "circle",
        Mark::Square => "square",
        Mark::Up => "up",
        Mark::Diamond => "diamond",
        Mark::Down => "down",
        Mark::Cross => "cross",
        Mark::Plus => "plus",
    }
}
