//! Colours, marks and dashes of the targets: the same target looks the same in every chart of a report.
//!
//! The eight hues are those of Okabe and Ito's set for readers with colour blindness ("Color Universal Design", 2008).
//! Lightness and chroma were searched for, on light ground and on dark. Each colour stands out from its ground. The two
//! most alike are as far apart as possible, for readers with and without deuteranopia and protanopia. The first
//! colours, which most runs use, are the furthest apart. There may be more targets than distinguishable colours, so a
//! mark goes with each, and a dash with each line.

use super::outline::{self, Step};

/// The ground of a report in light surroundings and on paper.
pub const LIGHT: &str = "#ffffff";

/// The ground of a report in dark surroundings.
pub const DARK: &str = "#14171c";

/// The number of colours.
pub const COLOURS: usize = 8;

/// The number of targets with a unique colour and mark.
pub const LOOKS: usize = COLOURS * MARKS.len();

const ON_LIGHT: [&str; COLOURS] =
    ["#1e4cc1", "#bb2306", "#1da68b", "#8b2568", "#c88601", "#2d7dab", "#b374ff", "#313132"];

const ON_DARK: [&str; COLOURS] =
    ["#3668e0", "#ed610b", "#12e9c0", "#ad517a", "#fec738", "#6cbaee", "#8c84fe", "#a2a2a2"];

const MARKS: [Mark; 7] =
    [Mark::Circle, Mark::Square, Mark::Up, Mark::Diamond, Mark::Down, Mark::Cross, Mark::Plus];

/// Lengths of strokes and gaps, as in `stroke-dasharray`.
const DASHES: [&str; 4] = ["", "7 3", "7 3 2 3", "12 4"];

/// The dashes of models' lines.
pub const MODEL_DASHES: [&str; 2] = ["8 4", "8 3 2 3"];

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A disc.
    Circle,
    /// A square on its side.
    Square,
    /// A triangle that points up.
    Up,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Down,
    /// Two bars, aslant.
    Cross,
    /// Two bars, upright.
    Plus,
}

impl Mark {
    /// Every mark, in the order of the targets.
    pub fn all() -> impl Iterator<Item = Self> {
        MARKS.into_iter()
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Square => "square",
            Self::Up => "up",
            Self::Diamond => "diamond",
            Self::Down => "down",
            Self::Cross => "cross",
            Self::Plus => "plus",
        }
    }

    /// Its outline, in a square of 16 with its middle at (8, 8).
    pub(super) fn outline(self) -> &'static [Step] {
        use Step::{By, Close, Down, DownTo, From, Half, Right, RightTo, To};
        match self {
            Self::Circle => &[From(8.0, 2.5), Half(11.0), Half(-11.0), Close],
            Self::Square => &[From(3.0, 3.0), Right(10.0), Down(10.0), RightTo(3.0), Close],
            Self::Up => &[From(8.0, 2.0), By(6.2, 11.5), RightTo(1.8), Close],
            Self::Diamond => &[From(8.0, 1.2), To(14.8, 8.0), To(8.0, 14.8), To(1.2, 8.0), Close],
            Self::Down => &[From(8.0, 14.0), By(6.2, -11.5), RightTo(1.8), Close],
            Self::Cross => &[
                From(4.2, 2.0),
                To(8.0, 5.8),
                To(11.8, 2.0),
                To(14.0, 4.2),
                To(10.2, 8.0),
                To(14.0, 11.8),
                To(11.8, 14.0),
                To(8.0, 10.2),
                To(4.2, 14.0),
                To(2.0, 11.8),
                To(5.8, 8.0),
                To(2.0, 4.2),
                Close,
            ],
            Self::Plus => &[
                From(6.4, 1.5),
                Right(3.2),
                Down(4.9),
                Right(4.9),
                Down(3.2),
                RightTo(9.6),
                Down(4.9),
                RightTo(6.4),
                DownTo(9.6),
                RightTo(1.5),
                DownTo(6.4),
                Right(4.9),
                Close,
            ],
        }
    }

    /// Its outline as the path of an SVG.
    pub fn path(self) -> String {
        outline::text(self.outline())
    }
}

/// The colour of a target on light ground.
pub fn on_light(target: usize) -> &'static str {
    ON_LIGHT[target % COLOURS]
}

/// The colour of a target on dark ground.
pub fn on_dark(target: usize) -> &'static str {
    ON_DARK[target % COLOURS]
}

/// The mark of a target. Seven marks and eight colours have no common divisor. Neighbours differ in both, and a colour
/// meets the same mark again only after all other marks.
pub fn mark(target: usize) -> Mark {
    MARKS[target % MARKS.len()]
}

/// The dash of a target's line, empty for a solid line: lines of one colour differ.
pub fn dash(target: usize) -> &'static str {
    DASHES[target / COLOURS % DASHES.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    type Triple = [f64; 3];

    const EVERYBODY: [Triple; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009),
    /// at full severity, on linear light.
    const PROTANOPIA: [Triple; 3] = [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ];
    const DEUTERANOPIA: [Triple; 3] = [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ];
    const TRITANOPIA: [Triple; 3] = [
        [1.255_528, -0.076_749, -0.178_779],
        [-0.078_411, 0.930_809, 0.147_602],
        [0.004_733, 0.691_367, 0.303_900],
    ];

    /// Red, green and blue as amounts of light, by the formula of WCAG 2 and of sRGB.
    fn light(colour: &str) -> Triple {
        [1, 3, 5].map(|at| {
            let part = u8::from_str_radix(&colour[at..at + 2], 16).expect("two hexadecimal digits");
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: &[Triple; 3], vector: Triple) -> Triple {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// The contrast of WCAG 2: 1 for the same, 21 for black on white.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour| times(&[[0.2126, 0.7152, 0.0722]; 3], light(colour))[0] + 0.05;
        let (a, b) = (luminance(a), luminance(b));
        a.max(b) / a.min(b)
    }

    /// The place of a colour in Ottosson's Oklab, where equal distances look alike.
    fn oklab(light: Triple) -> Triple {
        let cones = times(
            &[
                [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
                [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
                [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
            ],
            light,
        );
        times(
            &[
                [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
                [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
                [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
            ],
            cones.map(f64::cbrt),
        )
    }

    /// The distance between the two most similar of these colours for this reader.
    fn nearest(colours: &[&str], reader: &[Triple; 3]) -> f64 {
        let seen =
            |colour: &&str| oklab(times(reader, light(colour)).map(|part| part.clamp(0.0, 1.0)));
        let places: Vec<Triple> = colours.iter().map(seen).collect();
        let mut nearest = f64::INFINITY;
        for (at, a) in places.iter().enumerate() {
            for b in &places[at + 1..] {
                let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                nearest = nearest.min(squares.sqrt());
            }
        }
        nearest
    }

    #[test]
    fn contrast_is_that_of_the_recommendation() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.001);
        assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.01);
    }

    #[test]
    fn every_colour_stands_out_from_its_ground() {
        for (colours, ground) in [(ON_LIGHT, LIGHT), (ON_DARK, DARK)] {
            for colour in colours {
                let contrast = contrast(colour, ground);
                assert!(contrast >= 3.0, "{colour} on {ground}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn readers_who_tell_few_colours_apart_tell_these() {
        // Okabe and Ito's own eight colours reach 0.076 by this measure for deuteranopia.
        for colours in [ON_LIGHT, ON_DARK] {
            for reader in [EVERYBODY, PROTANOPIA, DEUTERANOPIA] {
                assert!(nearest(&colours, &reader) > 0.1, "{}", nearest(&colours, &reader));
                assert!(nearest(&colours[..4], &reader) > 0.15);
            }
            assert!(nearest(&colours, &TRITANOPIA) > 0.07);
        }
    }

    #[test]
    fn colour_and_mark_are_unique_and_neighbours_differ_in_both() {
        let look = |target| (on_light(target), mark(target));
        let looks: BTreeSet<_> = (0..LOOKS).map(look).collect();
        assert_eq!((looks.len(), LOOKS), (LOOKS, 56));
        for target in 0..LOOKS {
            assert_ne!(mark(target), mark(target + 1));
            assert_ne!(on_light(target), on_light(target + 1));
        }
    }

    #[test]
    fn lines_of_one_colour_are_dashed_differently() {
        let lines: BTreeSet<_> = (0..32).map(|target| (on_dark(target), dash(target))).collect();
        assert_eq!(lines.len(), 32);
    }
}
