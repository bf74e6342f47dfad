//! Writes SVG: elements, escaped text, colours by their meaning.

use std::fmt::Write;

use super::Ground;
use crate::chart::palette::{self, Mark};
use crate::text::clean;

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

/// An unfinished picture.
#[derive(Debug)]
pub(super) struct Canvas {
    ground: Ground,
    text: String,
}

impl Text {
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

impl Canvas {
    pub(super) fn new(ground: Ground) -> Self {
        Self { ground, text: String::new() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Opens a group with a tooltip. In the page a group has no tooltip: the page's own pictures have one for each
    /// place, and its tables have every figure.
    pub(super) fn begin(&mut self, title: &str) {
        if self.ground == Ground::White {
            let _ = writeln!(self.text, "<g><title>{}</title>", escaped(title));
        }
    }

    pub(super) fn end(&mut self) {
        if self.ground == Ground::White {
            self.text.push_str("</g>\n");
        }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        let path =
            format!("M{} {}L{} {}", number(from.0), number(from.1), number(to.0), number(to.1));
        self.path(&path, Paint::None, stroke);
    }

    /// An interval from end to end, with a bar across each.
    pub(super) fn whisker(&mut self, ends: [(f64, f64); 2], paint: Paint) {
        const HALF: f64 = 3.5;
        let [(x1, y1), (x2, y2)] = ends;
        let upright = (x2 - x1).abs() < (y2 - y1).abs();
        let across = if upright { format!("m-{HALF} 0h7") } else { format!("m0-{HALF}v7") };
        let [first, last] = ends.map(|(x, y)| format!("{} {}", number(x), number(y)));
        let path = format!("M{first}L{last}{across}M{first}{across}");
        match (self.ground, paint) {
            // Pictures of many marks are most of a page, so their style comes from the style sheet.
            (Ground::Page, Paint::Colour(colour)) => {
                let colour = colour % palette::COLOURS;
                let _ = writeln!(self.text, r#"<path class="whisker s{colour}" d="{path}"/>"#);
            }
            _ => self.path(&path, Paint::None, Stroke::of(paint, 1.2)),
        }
    }

    pub(super) fn rectangle(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        fill: Paint,
        stroke: Stroke,
    ) {
        let path = format!(
            "M{} {}h{}v{}h{}z",
            number(x),
            number(y),
            number(width),
            number(height),
            number(-width)
        );
        self.path(&path, fill, stroke);
    }

    pub(super) fn path(&mut self, path: &str, fill: Paint, stroke: Stroke) {
        let _ = write!(self.text, r#"<path d="{path}" fill="{}""#, self.paint(fill));
        self.stroke(stroke);
    }

    /// A mark with its middle at a place; hollow where its figure is withheld.
    pub(super) fn mark(&mut self, mark: Mark, (x, y): (f64, f64), colour: usize, hollow: bool) {
        const SCALE: f64 = 0.6;
        let (x, y) = (number(x - 8.0 * SCALE), number(y - 8.0 * SCALE));
        if self.ground == Ground::Page {
            let (class, colour) = (if hollow { "hollow " } else { "" }, colour % palette::COLOURS);
            let name = mark.as_str();
            let _ = writeln!(
                self.text,
                r##"<use class="{class}s{colour}" href="#dot-{name}" x="{x}" y="{y}"/>"##
            );
            return;
        }
        let fill = if hollow { Paint::Ground } else { Paint::Colour(colour) };
        let _ = write!(
            self.text,
            r#"<path transform="translate({x} {y}) scale({SCALE})" d="{}" fill="{}""#,
            mark.path(),
            self.paint(fill)
        );
        // A rim in the colour of the ground separates overlapping marks.
        let rim = if hollow { Paint::Colour(colour) } else { Paint::Ground };
        self.stroke(Stroke::of(rim, if hollow { 2.0 } else { 1.0 }));
    }

    pub(super) fn write(&mut self, look: Text, text: &str) {
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let weight = if look.bold { r#" font-weight="bold""# } else { "" };
        let halo = format!(
            r#" stroke="{}" stroke-width="4" paint-order="stroke""#,
            self.paint(Paint::Ground)
        );
        let halo = if look.over { halo.as_str() } else { "" };
        let _ = writeln!(
            self.text,
            r#"<text x="{}" y="{}" font-size="{}" fill="{}"{anchor}{weight}{halo}>{}</text>"#,
            number(look.at.0),
            number(look.at.1),
            look.size,
            self.paint(look.paint),
            escaped(text)
        );
    }

    fn stroke(&mut self, stroke: Stroke) {
        if stroke.paint != Paint::None {
            let (paint, width) = (self.paint(stroke.paint), stroke.width);
            let _ = write!(self.text, r#" stroke="{paint}" stroke-width="{width}""#);
            if !stroke.dash.is_empty() {
                let _ = write!(self.text, r#" stroke-dasharray="{}""#, stroke.dash);
            }
        }
        self.text.push_str("/>\n");
    }

    /// In the page a variable, which follows the reader's choice of light and dark.
    fn paint(&self, paint: Paint) -> String {
        let fixed = match paint {
            Paint::Colour(colour) => palette::on_light(colour),
            Paint::Ink => "#1b1f24",
            Paint::Soft => "#565f6b",
            Paint::Line => "#dce1e7",
            Paint::Ground => palette::LIGHT,
            Paint::None => "none",
        };
        match (self.ground, paint) {
            (Ground::Page, Paint::Colour(colour)) => {
                format!("var(--series-{})", colour % palette::COLOURS)
            }
            (Ground::Page, Paint::Ink) => "var(--ink)".to_owned(),
            (Ground::Page, Paint::Soft) => "var(--soft)".to_owned(),
            (Ground::Page, Paint::Line) => "var(--line)".to_owned(),
            (Ground::Page, Paint::Ground) => "var(--ground)".to_owned(),
            (Ground::Page, Paint::None) | (Ground::White, _) => fixed.to_owned(),
        }
    }
}

/// A coordinate to a tenth of a unit, because smaller differences are invisible.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text escaped for XML, with the quotes of attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Characters that XML does not allow at all.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
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
