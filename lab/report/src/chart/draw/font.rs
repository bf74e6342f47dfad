//! The glyphs of the font of every PNG: system fonts would make pictures look different on each machine.
//!
//! A file of `TrueType` has its outlines and widths in tables. These few are read here, because the crates that read
//! fonts support every kind of font, and take longer to build than the rest of this crate.

use std::sync::LazyLock;

use tiny_skia::PathBuilder;

static REGULAR: LazyLock<Font> = LazyLock::new(|| Font::read(dejavu::sans::regular()));
static BOLD: LazyLock<Font> = LazyLock::new(|| Font::read(dejavu::sans::bold()));

/// The deepest nesting of composed glyphs; in the font it is 2.
const MAX_DEPTH: u32 = 4;

/// A font with a table of kerning and Unicode's whole range of characters.
#[derive(Debug)]
pub(super) struct Font {
    units_per_em: f32,
    /// Groups of characters with consecutive glyphs: the first, the last, the glyph of the first.
    groups: Vec<[u32; 3]>,
    /// The places of the outlines, one after another.
    places: &'static [u8],
    outlines: &'static [u8],
    /// Width and left edge of each glyph.
    metrics: &'static [u8],
    n_metrics: usize,
    /// Pairs of glyphs, sorted, with the change of their distance.
    kerning: &'static [u8],
}

/// A corner of an outline, or a handle that the curve between two corners bends to.
#[derive(Debug, Clone, Copy)]
struct Point {
    x: f32,
    y: f32,
    is_corner: bool,
}

impl Point {
    fn middle(self, other: Self) -> Self {
        Self {
            x: f32::midpoint(self.x, other.x),
            y: f32::midpoint(self.y, other.y),
            is_corner: true,
        }
    }
}

impl Font {
    pub(super) fn of(bold: bool) -> &'static Self {
        if bold { &BOLD } else { &REGULAR }
    }

    fn read(file: &'static [u8]) -> Self {
        Self::tables(file).expect("the font has every table")
    }

    fn tables(file: &'static [u8]) -> Option<Self> {
        let table = |name: &[u8; 4]| {
            let entries = file.get(12..)?.chunks_exact(16).take(usize::from(u16_at(file, 4)?));
            let entry = entries.into_iter().find(|entry| entry.starts_with(name))?;
            file.get(u32_at(entry, 8)? as usize..)?.get(..u32_at(entry, 12)? as usize)
        };
        // A table of two-byte places would have another reading.
        let head = table(b"head")?;
        (u16_at(head, 50)? == 1).then_some(())?;
        let kern = table(b"kern")?;
        let n_pairs = usize::from(u16_at(kern, 10)?);
        Some(Self {
            units_per_em: u16_at(head, 18)?.into(),
            groups: groups(table(b"cmap")?)?,
            places: table(b"loca")?,
            outlines: table(b"glyf")?,
            metrics: table(b"hmtx")?,
            n_metrics: u16_at(table(b"hhea")?, 34)?.into(),
            kerning: kern.get(18..18 + 6 * n_pairs)?,
        })
    }

    /// The glyph of a character; for a character that the font lacks, a box.
    fn glyph(&self, character: char) -> u16 {
        let code = u32::from(character);
        let group = self.groups.partition_point(|[_, last, _]| *last < code);
        match self.groups.get(group) {
            Some([first, _, glyph]) if *first <= code => {
                u16::try_from(glyph + (code - first)).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// The width of a glyph; the last width is that of all further glyphs.
    fn advance(&self, glyph: u16) -> f32 {
        let at = usize::from(glyph).min(self.n_metrics - 1);
        u16_at(self.metrics, 4 * at).unwrap_or(0).into()
    }

    /// The change of the distance between two neighbours.
    fn kern(&self, left: u16, right: u16) -> f32 {
        let wanted = u32::from(left) << 16 | u32::from(right);
        let (pairs, _) = self.kerning.as_chunks::<6>();
        let pair = |pair: &[u8; 6]| u32::from_be_bytes([pair[0], pair[1], pair[2], pair[3]]);
        match pairs.binary_search_by_key(&wanted, pair) {
            Ok(at) => i16::from_be_bytes([pairs[at][4], pairs[at][5]]).into(),
            Err(_) => 0.0,
        }
    }

    /// Each glyph of a text with its place, and the width of the text, in units of the font.
    fn set(&self, text: &str) -> (Vec<(u16, f32)>, f32) {
        let mut glyphs: Vec<(u16, f32)> = Vec::new();
        let mut x = 0.0;
        for glyph in text.chars().map(|character| self.glyph(character)) {
            if let Some((before, _)) = glyphs.last() {
                x += self.kern(*before, glyph);
            }
            glyphs.push((glyph, x));
            x += self.advance(glyph);
        }
        (glyphs, x)
    }

    /// The width of a text at a size.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        self.set(text).1 * size / self.units_per_em
    }

    /// Adds the outline of a text that begins at a place.
    pub(super) fn outline(&self, path: &mut PathBuilder, text: &str, size: f32, at: (f32, f32)) {
        let scale = size / self.units_per_em;
        for (glyph, x) in self.set(text).0 {
            for contour in self.contours(glyph, MAX_DEPTH).unwrap_or_default() {
                let placed = contour.into_iter().map(|point| Point {
                    x: at.0 + (x + point.x) * scale,
                    y: at.1 - point.y * scale,
                    ..point
                });
                draw(path, &placed.collect::<Vec<_>>());
            }
        }
    }

    /// The closed lines of a glyph; `None` for a glyph without an outline, such as the space.
    fn contours(&self, glyph: u16, depth: u32) -> Option<Vec<Vec<Point>>> {
        let at = 4 * usize::from(glyph);
        let (from, to) = (u32_at(self.places, at)?, u32_at(self.places, at + 4)?);
        let data = self.outlines.get(from as usize..to as usize)?;
        match usize::try_from(i16_at(data, 0)?) {
            Ok(n_contours) => simple(data.get(10..)?, n_contours),
            Err(_) => self.composed(data.get(10..)?, depth.checked_sub(1)?),
        }
    }

    /// The contours of a glyph that is made of others, such as a letter with an accent.
    fn composed(&self, mut data: &[u8], depth: u32) -> Option<Vec<Vec<Point>>> {
        let mut contours = Vec::new();
        loop {
            let flags = u16_at(data, 0)?;
            let glyph = u16_at(data, 2)?;
            let is_set = |bit: u16| flags & bit != 0;
            let (dx, dy, at) = if is_set(0x01) {
                (i16_at(data, 4)?, i16_at(data, 6)?, 8)
            } else {
                (i8_at(data, 4)?.into(), i8_at(data, 5)?.into(), 6)
            };
            let share = |at| Some(f32::from(i16_at(data, at)?) / 16384.0);
            let ([xx, yx, xy, yy], at) = if is_set(0x80) {
                ([share(at)?, share(at + 2)?, share(at + 4)?, share(at + 6)?], at + 8)
            } else if is_set(0x40) {
                ([share(at)?, 0.0, 0.0, share(at + 2)?], at + 4)
            } else if is_set(0x08) {
                ([share(at)?, 0.0, 0.0, share(at)?], at + 2)
            } else {
                ([1.0, 0.0, 0.0, 1.0], at)
            };
            let moved = |point: Point| Point {
                x: point.x * xx + point.y * xy + f32::from(dx),
                y: point.x * yx + point.y * yy + f32::from(dy),
                ..point
            };
            let parts = self.contours(glyph, depth).unwrap_or_default();
            contours.extend(parts.into_iter().map(|part| part.into_iter().map(moved).collect()));
            if !is_set(0x20) {
                return Some(contours);
            }
            data = data.get(at..)?;
        }
    }
}

/// The groups of the table of characters that has all of Unicode.
fn groups(cmap: &[u8]) -> Option<Vec<[u32; 3]>> {
    let entries = cmap.get(4..)?.chunks_exact(8).take(usize::from(u16_at(cmap, 2)?));
    let full = entries.into_iter().find_map(|entry| {
        let table = cmap.get(u32_at(entry, 4)? as usize..)?;
        (u16_at(table, 0)? == 12).then_some(table)
    })?;
    let n_groups = u32_at(full, 12)? as usize;
    let groups = full.get(16..16 + 12 * n_groups)?.chunks_exact(12);
    groups.map(|group| Some([u32_at(group, 0)?, u32_at(group, 4)?, u32_at(group, 8)?])).collect()
}

/// The contours of a glyph with its own outline: the ends of the contours, unused instructions, a flag for each point,
/// and the steps from point to point.
fn simple(data: &[u8], n_contours: usize) -> Option<Vec<Vec<Point>>> {
    const REPEATED: u8 = 0x08;
    let ends = (0..n_contours).map(|contour| u16_at(data, 2 * contour).map(usize::from));
    let ends: Vec<usize> = ends.collect::<Option<_>>()?;
    let n_points = ends.last()? + 1;
    let mut at = 2 * n_contours + 2 + usize::from(u16_at(data, 2 * n_contours)?);
    let mut flags = Vec::with_capacity(n_points);
    while flags.len() < n_points {
        let flag = *data.get(at)?;
        let is_repeated = flag & REPEATED != 0;
        let times = if is_repeated { 1 + usize::from(*data.get(at + 1)?) } else { 1 };
        flags.extend(std::iter::repeat_n(flag, times));
        at += if is_repeated { 2 } else { 1 };
    }
    flags.truncate(n_points);
    let xs = coordinates(data, &mut at, &flags, [0x02, 0x10])?;
    let ys = coordinates(data, &mut at, &flags, [0x04, 0x20])?;
    let points = xs.into_iter().zip(ys).zip(flags);
    let mut points = points.map(|((x, y), flag)| Point { x, y, is_corner: flag & 1 != 0 });
    let mut begin = 0;
    let contours = ends.into_iter().map(|end| {
        let contour = points.by_ref().take((end + 1).saturating_sub(begin)).collect();
        begin = end + 1;
        contour
    });
    Some(contours.collect())
}

/// Coordinates from steps of one byte, whose sign the flag has, of two bytes, or of none.
fn coordinates(
    data: &[u8],
    at: &mut usize,
    flags: &[u8],
    [short, same]: [u8; 2],
) -> Option<Vec<f32>> {
    let mut value = 0.0;
    let coordinate = |flag: &u8| {
        if flag & short != 0 {
            let step = f32::from(*data.get(*at)?);
            *at += 1;
            value += if flag & same != 0 { step } else { -step };
        } else if flag & same == 0 {
            value += f32::from(i16_at(data, *at)?);
            *at += 2;
        }
        Some(value)
    };
    flags.iter().map(coordinate).collect()
}

/// Adds a closed line. Between two handles that follow each other there is a corner half way.
fn draw(path: &mut PathBuilder, contour: &[Point]) {
    let [first, .., last] = contour else { return };
    let start = match (first.is_corner, last.is_corner) {
        (true, _) => *first,
        (false, true) => *last,
        (false, false) => first.middle(*last),
    };
    path.move_to(start.x, start.y);
    let mut handle: Option<Point> = None;
    for point in contour.iter().chain([&start]) {
        match (handle, point.is_corner) {
            (None, true) => path.line_to(point.x, point.y),
            (Some(bend), true) => path.quad_to(bend.x, bend.y, point.x, point.y),
            (Some(bend), false) => {
                let corner = bend.middle(*point);
                path.quad_to(bend.x, bend.y, corner.x, corner.y);
            }
            (None, false) => {}
        }
        handle = (!point.is_corner).then_some(*point);
    }
    path.close();
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?))
}

fn i16_at(data: &[u8], at: usize) -> Option<i16> {
    Some(i16::from_be_bytes(*data.get(at..)?.first_chunk()?))
}

fn i8_at(data: &[u8], at: usize) -> Option<i8> {
    Some(i8::from_be_bytes([*data.get(at)?]))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*data.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_have_the_lines_of_their_letters() {
        for bold in [false, true] {
            let font = Font::of(bold);
            let n_contours = |character| {
                let contours = font.contours(font.glyph(character), MAX_DEPTH);
                contours.unwrap_or_default().len()
            };
            for (character, expected) in
                [('l', 1), ('i', 2), ('o', 2), ('é', 3), ('Ö', 4), ('B', 3), ('…', 3), (' ', 0)]
            {
                assert_eq!(n_contours(character), expected, "{character}");
            }
            // A box for a character that the font lacks.
            assert_eq!((font.glyph('\u{10_fffe}'), n_contours('漢')), (0, 2));
        }
    }

    #[test]
    fn letters_that_fit_into_each_other_stand_closer() {
        let (font, size) = (Font::of(false), 10.0);
        let [pair, first, second] = ["AV", "A", "V"].map(|text| font.width(text, size));
        assert!(pair < first + second, "{pair} {first} {second}");
        let [level, figures] = ["HH", "00"].map(|text| font.width(text, size));
        assert!((level - 2.0 * font.width("H", size)).abs() < 0.001);
        // Every figure has the same width, 1,303 of 2,048 units.
        assert!((figures - 2.0 * size * 1303.0 / 2048.0).abs() < 0.001, "{figures}");
        assert!(Font::of(true).width("A", size) > first);
    }

    #[test]
    fn an_outline_stands_on_its_line_and_ends_with_its_width() {
        let font = Font::of(false);
        let mut path = PathBuilder::new();
        font.outline(&mut path, "Hx", 100.0, (10.0, 200.0));
        let bounds = path.finish().unwrap().bounds();
        assert!(bounds.left() > 10.0 && bounds.right() < 10.0 + font.width("Hx", 100.0));
        // Capitals are 1,493 of 2,048 units high.
        assert!((bounds.bottom() - 200.0).abs() < 0.1, "{bounds:?}");
        assert!((bounds.top() - (200.0 - 100.0 * 1493.0 / 2048.0)).abs() < 0.1, "{bounds:?}");
    }
}
