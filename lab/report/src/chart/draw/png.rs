//! Pictures for programs that do not take SVG.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use tiny_skia::{
    Color, FillRule, Paint as Brush, Path, PathBuilder, Pixmap, PixmapMut, Stroke as Pen,
    StrokeDash, Transform,
};

use super::canvas::{Anchor, Operation, Paint, Stroke, Text};
use super::font::Font;
use super::{Picture, WIDTH, picture};
use crate::chart::model::Chart;
use crate::chart::outline::Step;
use crate::text::clean;

/// The pixels for each unit of the SVG, for sharp pictures on high-resolution screens.
const PIXELS: f32 = 2.0;

/// A chart as PNG, twice as large as its SVG.
pub fn png(chart: &Chart) -> Vec<u8> {
    let Picture { height, operations } = picture(chart);
    let [width, height] = [WIDTH, height].map(pixels);
    let mut pixmap = Pixmap::new(width, height).expect("a picture has a size");
    pixmap.fill(Paint::Ground.on_white().map_or(Color::WHITE, colour));
    let mut drawing = Drawing { pixels: pixmap.as_mut() };
    for operation in &operations {
        drawing.draw(operation);
    }
    let pixels = pixmap.pixels().iter();
    let rgb: Vec<u8> =
        pixels.flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    encoded(width, height, &rgb)
}

/// An unfinished picture.
struct Drawing<'a> {
    pixels: PixmapMut<'a>,
}

impl Drawing<'_> {
    fn draw(&mut self, operation: &Operation) {
        let scale = Transform::from_scale(PIXELS, PIXELS);
        match operation {
            Operation::Begin(_) | Operation::End => {}
            Operation::Path { steps, fill, stroke } => self.path(steps, *fill, *stroke, scale),
            Operation::Whisker { steps, paint } => {
                self.path(steps, Paint::None, Operation::of_whisker(*paint), scale);
            }
            Operation::Mark { mark, at, fill, rim } => {
                let inner = single(Operation::MARK_SCALE);
                let at = scale.pre_translate(rounded(at.0), rounded(at.1));
                self.path(mark.outline(), *fill, *rim, at.pre_scale(inner, inner));
            }
            Operation::Text { look, text } => self.text(*look, text, scale),
        }
    }

    fn path(&mut self, steps: &[Step], fill: Paint, stroke: Stroke, place: Transform) {
        // A path without an extent shows nothing.
        let Some(path) = path(steps) else { return };
        self.fill(&path, fill, place);
        self.stroke(&path, stroke, place);
    }

    /// Writes from left to right, one glyph for each character.
    fn text(&mut self, look: Text, text: &str, place: Transform) {
        // As SVG: a space for several.
        let text =
            clean(text).split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let (font, size) = (Font::of(look.bold), single(look.size));
        let share = match look.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        };
        let left = rounded(look.at.0) - share * font.width(&text, size);
        let mut path = PathBuilder::new();
        font.outline(&mut path, &text, size, (left, rounded(look.at.1)));
        let Some(path) = path.finish() else { return };
        if look.over {
            self.stroke(&path, Stroke::of(Paint::Ground, Text::HALO), place);
        }
        self.fill(&path, look.paint, place);
    }

    fn fill(&mut self, path: &Path, paint: Paint, place: Transform) {
        if let Some(brush) = brush(paint) {
            self.pixels.fill_path(path, &brush, FillRule::Winding, place, None);
        }
    }

    fn stroke(&mut self, path: &Path, stroke: Stroke, place: Transform) {
        let Some(brush) = brush(stroke.paint).filter(|_| stroke.width > 0.0) else { return };
        let dash =
            stroke.dash.split_whitespace().filter_map(|length| length.parse().ok()).collect();
        let dash = StrokeDash::new(dash, 0.0);
        let pen = Pen { width: single(stroke.width), dash, ..Pen::default() };
        self.pixels.stroke_path(path, &brush, &pen, place, None);
    }
}

fn brush(paint: Paint) -> Option<Brush<'static>> {
    let mut brush = Brush { anti_alias: true, ..Brush::default() };
    brush.set_color(colour(paint.on_white()?));
    Some(brush)
}

/// A colour of the palette, `#rrggbb`.
fn colour(text: &str) -> Color {
    let [_, red, green, blue] = u32::from_str_radix(text.trim_start_matches('#'), 16)
        .expect("the palette has six hexadecimal digits for a colour")
        .to_be_bytes();
    Color::from_rgba8(red, green, blue, u8::MAX)
}

/// The steps of the pen with each place reckoned from the steps before it.
fn path(steps: &[Step]) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (mut x, mut y) = (0.0, 0.0);
    for step in steps {
        let (from_x, from_y) = (x, y);
        (x, y) = match *step {
            Step::From(x, y) | Step::To(x, y) => (rounded(x), rounded(y)),
            Step::Skip(dx, dy) | Step::By(dx, dy) => (x + rounded(dx), y + rounded(dy)),
            Step::Right(dx) => (x + rounded(dx), y),
            Step::Down(dy) | Step::Half(dy) => (x, y + rounded(dy)),
            Step::RightTo(x) => (rounded(x), y),
            Step::DownTo(y) => (x, rounded(y)),
            Step::Close => (x, y),
        };
        match step {
            Step::From(..) | Step::Skip(..) => path.move_to(x, y),
            Step::Half(_) => half(&mut path, (from_x, from_y), y - from_y),
            Step::Close => path.close(),
            _ => path.line_to(x, y),
        }
    }
    path.finish()
}

/// Half a circle, clockwise, as two curves.
fn half(path: &mut PathBuilder, (x, y): (f32, f32), diameter: f32) {
    // The handles with which a cubic curve is nearest to a quarter of a circle.
    const HANDLE: f32 = 0.552_285;
    let radius = diameter / 2.0;
    let (right, middle, handle) = (x + radius, y + radius, HANDLE * radius);
    path.cubic_to(x + handle, y, right, middle - handle, right, middle);
    path.cubic_to(right, middle + handle, x + handle, y + diameter, x, y + diameter);
}

/// A coordinate as the SVG has it.
fn rounded(value: f64) -> f32 {
    single((value * 10.0).round() / 10.0)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a seventh digit of a coordinate shows nowhere"
)]
fn single(value: f64) -> f32 {
    value as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a picture has some thousand pixels"
)]
fn pixels(length: f64) -> u32 {
    (length * f64::from(PIXELS)).ceil() as u32
}

/// A file of opaque pixels, each of three bytes.
fn encoded(width: u32, height: u32, rgb: &[u8]) -> Vec<u8> {
    /// Each byte is the difference to the byte of the row above, which compresses well where rows are alike.
    const UP: u8 = 2;
    let row = 3 * width as usize;
    let mut above = vec![0; row];
    let mut data = ZlibEncoder::new(Vec::new(), Compression::default());
    for pixels in rgb.chunks_exact(row) {
        let differences =
            pixels.iter().zip(&above).map(|(pixel, above)| pixel.wrapping_sub(*above));
        let filtered: Vec<u8> = std::iter::once(UP).chain(differences).collect();
        data.write_all(&filtered).expect("memory takes every write");
        above.copy_from_slice(pixels);
    }
    let data = data.finish().expect("memory takes every write");
    // Eight bits for each of red, green and blue, in rows one after another.
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in [(*b"IHDR", &header), (*b"IDAT", &data), (*b"IEND", &Vec::new())] {
        chunk(&mut file, name, data);
    }
    file
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).expect("a picture is smaller than 4 GiB");
    let mut sum = Crc::new();
    sum.update(&name);
    sum.update(data);
    file.extend(length.to_be_bytes());
    file.extend(name);
    file.extend(data);
    file.extend(sum.sum().to_be_bytes());
}
