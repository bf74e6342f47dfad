//! Writes SVG: elements, escaped text, colours by their meaning.

use std::fmt::Write;

use super::canvas::{Anchor, Operation, Paint, Stroke, Text};
use super::{Ground, Picture, WIDTH, notes, picture};
use crate::chart::model::Chart;
use crate::chart::outline::{self, number};
use crate::chart::palette::{self, Mark};
use crate::text::clean;

/// A chart as SVG, with a title and a description for readers who cannot see it.
pub fn svg(chart: &Chart, ground: Ground) -> String {
    let Picture { height, operations } = picture(chart);
    let mut writer = Writer { ground, text: opening(chart, ground, height) };
    for operation in &operations {
        writer.write(operation);
    }
    writer.text.push_str("</svg>\n");
    writer.text
}

fn opening(chart: &Chart, ground: Ground, height: f64) -> String {
    let (id, height) = (&chart.id, number(height));
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{id}-title {id}-desc""#
    );
    if ground == Ground::White {
        let _ = write!(
            svg,
            r#" width="{WIDTH}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif""#
        );
    }
    let description = [chart.reading.clone()].into_iter().chain(notes::texts(chart));
    let _ = writeln!(
        svg,
        ">\n<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>",
        escaped(&chart.title),
        escaped(&description.collect::<Vec<_>>().join(" "))
    );
    if ground == Ground::White {
        let ground = palette::LIGHT;
        let _ = writeln!(svg, r#"<path d="M0 0h{WIDTH}v{height}H0z" fill="{ground}"/>"#);
    }
    svg
}

/// An unfinished SVG.
struct Writer {
    ground: Ground,
    text: String,
}

impl Writer {
    fn write(&mut self, operation: &Operation) {
        match operation {
            // In the page a group has no tooltip: the page's own pictures have one for each place, and its tables have
            // every figure.
            Operation::Begin(_) | Operation::End if self.ground == Ground::Page => {}
            Operation::Begin(title) => {
                let _ = writeln!(self.text, "<g><title>{}</title>", escaped(title));
            }
            Operation::End => self.text.push_str("</g>\n"),
            Operation::Path { steps, fill, stroke } => {
                self.path(&outline::text(steps), *fill, *stroke);
            }
            Operation::Whisker { steps, paint } => self.whisker(&outline::text(steps), *paint),
            Operation::Mark { mark, at, fill, rim } => self.mark(*mark, *at, *fill, *rim),
            Operation::Text { look, text } => self.text(*look, text),
        }
    }

    fn whisker(&mut self, path: &str, paint: Paint) {
        match (self.ground, paint) {
            // Pictures of many marks are most of a page, so their style comes from the style sheet.
            (Ground::Page, Paint::Colour(colour)) => {
                let colour = colour % palette::COLOURS;
                let _ = writeln!(self.text, r#"<path class="whisker s{colour}" d="{path}"/>"#);
            }
            _ => self.path(path, Paint::None, Operation::of_whisker(paint)),
        }
    }

    fn path(&mut self, path: &str, fill: Paint, stroke: Stroke) {
        let _ = write!(self.text, r#"<path d="{path}" fill="{}""#, self.paint(fill));
        self.stroke(stroke);
    }

    fn mark(&mut self, mark: Mark, (x, y): (f64, f64), fill: Paint, rim: Stroke) {
        let (x, y) = (number(x), number(y));
        let page = match (self.ground, fill, rim.paint) {
            (Ground::Page, Paint::Colour(colour), _) => Some(("", colour)),
            (Ground::Page, _, Paint::Colour(colour)) => Some(("hollow ", colour)),
            _ => None,
        };
        if let Some((class, colour)) = page {
            let (name, colour) = (mark.as_str(), colour % palette::COLOURS);
            let _ = writeln!(
                self.text,
                r##"<use class="{class}s{colour}" href="#dot-{name}" x="{x}" y="{y}"/>"##
            );
            return;
        }
        let _ = write!(
            self.text,
            r#"<path transform="translate({x} {y}) scale({})" d="{}" fill="{}""#,
            Operation::MARK_SCALE,
            mark.path(),
            self.paint(fill)
        );
        self.stroke(rim);
    }

    fn text(&mut self, look: Text, text: &str) {
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let weight = if look.bold { r#" font-weight="bold""# } else { "" };
        let halo = format!(
            r#" stroke="{}" stroke-width="{}" paint-order="stroke""#,
            self.paint(Paint::Ground),
            Text::HALO
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
        let Some(fixed) = paint.on_white() else { return "none".to_owned() };
        match (self.ground, paint) {
            (Ground::White, _) => fixed.to_owned(),
            (Ground::Page, Paint::Colour(colour)) => {
                format!("var(--series-{})", colour % palette::COLOURS)
            }
            (Ground::Page, Paint::Soft) => "var(--soft)".to_owned(),
            (Ground::Page, Paint::Line) => "var(--line)".to_owned(),
            (Ground::Page, Paint::Ground) => "var(--ground)".to_owned(),
            (Ground::Page, Paint::Ink | Paint::None) => "var(--ink)".to_owned(),
        }
    }
}

/// Text escaped for XML, with the quotes of attributes.
fn escaped(text: &str) -> String {
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
