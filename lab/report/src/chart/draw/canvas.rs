//! The list of what a picture shows, from the ground up: lines, marks and texts, with colours by their meaning.

use crate::chart::outline::Step;
use crate::chart::palette::{self, Mark};

/// The colour of a mark, by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// A colour of the palette, by its number.
    Colour(usize),
    /// Text, and marks as strong as text.
    Ink,
    /// Secondary text.
    Soft,
    /// Grid lines.
    Line,
    /// The ground, for hollow marks.
    Ground,
    /// No colour.
    None,
}

/// The alignment of a text to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text's place and look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    pub(super) at: (f64, f64),
    pub(super) anchor: Anchor,
    pub(super) size: f64,
    pub(super) paint: Paint,
    pub(super) bold: bool,
    /// Whether the text stands over lines, which then leave room for it.
    pub(super) over: bool,
}

/// A stroke's look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke {
    pub(super) paint: Paint,
    pub(super) width: f64,
    /// The value of `stroke-dasharray`; empty for a solid line.
    pub(super) dash: &'static str,
}

/// A part of a picture.
#[derive(Debug)]
pub(super) enum Operation {
    /// A group with a tooltip begins.
    Begin(String),
    /// The group ends.
    End,
    Path {
        steps: Vec<Step>,
        fill: Paint,
        stroke: Stroke,
    },
    /// An interval.
    Whisker {
        steps: Vec<Step>,
        paint: Paint,
    },
    Mark {
        mark: Mark,
        /// The corner at the left and top of its square.
        at: (f64, f64),
        fill: Paint,
        rim: Stroke,
    },
    Text {
        look: Text,
        text: String,
    },
}

/// An unfinished picture.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    operations: Vec<Operation>,
}

impl Text {
    /// The width of the room that lines leave for a text over them.
    pub(super) const HALO: f64 = 4.0;

    /// Plain text to the right of its place.
    pub(super) fn at(x: f64, y: f64, size: f64) -> Self {
        Self {
            at: (x, y),
            anchor: Anchor::Start,
            size,
            paint: Paint::Ink,
            bold: false,
            over: false,
        }
    }

    pub(super) fn soft(self) -> Self {
        Self { paint: Paint::Soft, ..self }
    }

    pub(super) fn over(self) -> Self {
        Self { over: true, ..self }
    }

    pub(super) fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

impl Stroke {
    pub(super) fn of(paint: Paint, width: f64) -> Self {
        Self { paint, width, dash: "" }
    }
}

impl Operation {
    /// The scale of a mark's outline.
    pub(super) const MARK_SCALE: f64 = 0.6;

    /// The stroke of an interval.
    pub(super) fn of_whisker(paint: Paint) -> Stroke {
        Stroke::of(paint, 1.2)
    }
}

impl Paint {
    /// The colour on white; `None` for no colour.
    pub(super) fn on_white(self) -> Option<&'static str> {
        match self {
            Self::Colour(colour) => Some(palette::on_light(colour)),
            Self::Ink => Some("#1b1f24"),
            Self::Soft => Some("#565f6b"),
            Self::Line => Some("#dce1e7"),
            Self::Ground => Some(palette::LIGHT),
            Self::None => None,
        }
    }
}

impl Canvas {
    pub(super) fn into_operations(self) -> Vec<Operation> {
        self.operations
    }

    /// Opens a group with a tooltip.
    pub(super) fn begin(&mut self, title: &str) {
        self.operations.push(Operation::Begin(title.to_owned()));
    }

    pub(super) fn end(&mut self) {
        self.operations.push(Operation::End);
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.path(vec![Step::From(from.0, from.1), Step::To(to.0, to.1)], Paint::None, stroke);
    }

    /// An interval from end to end, with a bar across each.
    pub(super) fn whisker(&mut self, ends: [(f64, f64); 2], paint: Paint) {
        const HALF: f64 = 3.5;
        let [(x1, y1), (x2, y2)] = ends;
        let upright = (x2 - x1).abs() < (y2 - y1).abs();
        let across = if upright {
            [Step::Skip(-HALF, 0.0), Step::Right(2.0 * HALF)]
        } else {
            [Step::Skip(0.0, -HALF), Step::Down(2.0 * HALF)]
        };
        let [skip, bar] = across;
        let first = Step::From(x1, y1);
        let steps = vec![first, Step::To(x2, y2), skip, bar, first, skip, bar];
        self.operations.push(Operation::Whisker { steps, paint });
    }

    pub(super) fn rectangle(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        fill: Paint,
        stroke: Stroke,
    ) {
        let (right, down, left) = (Step::Right(width), Step::Down(height), Step::Right(-width));
        self.path(vec![Step::From(x, y), right, down, left, Step::Close], fill, stroke);
    }

    pub(super) fn path(&mut self, steps: Vec<Step>, fill: Paint, stroke: Stroke) {
        self.operations.push(Operation::Path { steps, fill, stroke });
    }

    /// A mark with its middle at a place; hollow where its figure is withheld.
    pub(super) fn mark(&mut self, mark: Mark, (x, y): (f64, f64), colour: Paint, hollow: bool) {
        const MIDDLE: f64 = 8.0 * Operation::MARK_SCALE;
        // A rim in the colour of the ground separates overlapping marks.
        let (fill, rim) = if hollow {
            (Paint::Ground, Stroke::of(colour, 2.0))
        } else {
            (colour, Stroke::of(Paint::Ground, 1.0))
        };
        self.operations.push(Operation::Mark { mark, at: (x - MIDDLE, y - MIDDLE), fill, rim });
    }

    pub(super) fn write(&mut self, look: Text, text: &str) {
        self.operations.push(Operation::Text { look, text: text.to_owned() });
    }
}

/// The approximate width of a text in `DejaVu` Sans, which is wider than most fonts: text that fits in it also fits in
/// others.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |character: char| match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '/' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' => 0.42,
        'm' | 'M' | 'w' | 'W' | '@' | '%' | '…' | '✗' => 0.97,
        'A'..='Z' | '±' | '×' | '+' | '=' | '<' | '>' => 0.75,
        c if c.is_ascii() || c.is_alphabetic() => 0.62,
        _ => 1.0,
    };
    text.chars().map(of).sum::<f64>() * size
}
