//! Colours, marks and dashes of the targets: the same target looks the same in every chart of a report.
//!
//! The colours are Okabe and Ito's set for readers who tell few colours apart ("Color Universal Design", 2008), moved
//! until each stands out from its background; the same eight places in the list serve light and dark. There are more
//! targets than colours that anybody can tell apart, so a mark and a dash go with each: colour and mark together are
//! unique for the first [`LOOKS`] targets.

/// The background of a report in light surroundings and on paper.
pub const LIGHT: &str = "#ffffff";

/// The background of a report in dark surroundings.
pub const DARK: &str = "#14171c";

/// How many colours there are.
pub const COLOURS: usize = 8;

/// How many targets look different from each other.
pub const LOOKS: usize = COLOURS * MARKS.len();

/// On light ground and on paper.
const ON_LIGHT: [&str; COLOURS] =
    ["#0072b2", "#c44e00", "#008a64", "#b3478a", "#8a6d00", "#2a93d1", "#5b4a9e", "#3d3d3d"];

/// On dark ground.
const ON_DARK: [&str; COLOURS] =
    ["#3d9be0", "#f0803c", "#1fbf92", "#e08abf", "#e0c040", "#7fd0f7", "#a594f0", "#d0d0d0"];

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Two strokes, aslant.
    Cross,
    /// Two strokes, upright.
    Plus,
}

const MARKS: [Mark; 7] =
    [Mark::Circle, Mark::Square, Mark::Up, Mark::Diamond, Mark::Down, Mark::Cross, Mark::Plus];

/// The colour of a target in light surroundings.
pub fn on_light(target: usize) -> &'static str {
    ON_LIGHT[target % COLOURS]
}

/// The colour of a target in dark surroundings.
pub fn on_dark(target: usize) -> &'static str {
    ON_DARK[target % COLOURS]
}

/// The mark of a target. Seven marks and eight colours have no common divisor: neighbours differ in both, and a pair of
/// both comes back only after all others.
pub fn mark(target: usize) -> Mark {
    MARKS[target % MARKS.len()]
}
