//! The marks of the targets and the signs of the checks, drawn once and used everywhere by their names.

use maud::{Markup, html};

use super::tables::pips;
use crate::chart::palette::{COLOURS, Mark, mark};
use crate::model::Severity;

/// The shapes that the page uses, hidden at its head.
pub(super) fn sprites() -> Markup {
    let signs = [
        (Severity::Error, "M5 1h6l4 4v6l-4 4H5l-4-4V5z", "M5.5 5.5l5 5m0-5l-5 5"),
        (Severity::Warn, "M8 1.2l7.3 13.3H.7z", "M8 6v4m0 1.6v1.4"),
        (Severity::Note, "M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14z", "M8 4v1.5m0 2v4.5"),
    ];
    html! {
        svg.sprites aria-hidden="true" width="0" height="0" { defs {
            @for mark in Mark::all() {
                symbol id={ "mark-" (mark.as_str()) } viewBox="0 0 16 16" { path d=(mark.path()) fill="currentColor" {} }
            }
            @for mark in Mark::all() {
                g id={ "dot-" (mark.as_str()) } { path d=(mark.path()) transform="scale(.6)" {} }
            }
            (pips())
            @for (severity, shape, sign) in signs {
                symbol id={ "sign-" (severity.as_str()) } viewBox="0 0 16 16" {
                    path d=(shape) fill="currentColor" {}
                    path.in-sign d=(sign) fill="none" stroke-width="1.8" {}
                }
            }
        } }
    }
}

/// The mark of a target, in its colour. The target's name always stands beside it.
pub(super) fn of_target(number: Option<usize>) -> Markup {
    html! {
        @if let Some(number) = number {
            svg class={ "mark s" (number % COLOURS) } aria-hidden="true" {
                use href={ "#mark-" (mark(number).as_str()) } {}
            }
        }
    }
}

/// The mark of a target in the colour of the text, where colours do not tell targets apart.
pub(super) fn neutral(number: usize) -> Markup {
    html! {
        svg.mark aria-hidden="true" { use href={ "#mark-" (mark(number).as_str()) } {} }
    }
}

/// The sign of a severity. Its word stands beside it, or in it for screen readers.
pub(super) fn of_severity(severity: Severity) -> Markup {
    html! {
        svg class={ "sign " (severity.as_str()) } aria-hidden="true" {
            use href={ "#sign-" (severity.as_str()) } {}
        }
    }
}
