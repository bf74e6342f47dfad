//! Outlines as data: the path of an SVG, and the strokes of a PNG.

/// A step of the pen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// The pen is put down at a place.
    From(f64, f64),
    /// The pen is put down at this distance from the last place.
    Skip(f64, f64),
    /// A stroke to a place.
    To(f64, f64),
    /// A stroke over a distance.
    By(f64, f64),
    /// A stroke to the right over a distance.
    Right(f64),
    /// A stroke down over a distance.
    Down(f64),
    /// A level stroke to a place.
    RightTo(f64),
    /// An upright stroke to a place.
    DownTo(f64),
    /// Half a circle, clockwise, to the place that is this distance below.
    Half(f64),
    /// A stroke to the place where the pen was put down.
    Close,
}

/// Steps as the value of the attribute `d`.
pub(super) fn text(steps: &[Step]) -> String {
    steps.iter().map(step).collect()
}

fn step(step: &Step) -> String {
    match *step {
        Step::From(x, y) => format!("M{} {}", number(x), number(y)),
        Step::Skip(x, y) => format!("m{}", distance(x, y)),
        Step::To(x, y) => format!("L{} {}", number(x), number(y)),
        Step::By(x, y) => format!("l{}", distance(x, y)),
        Step::Right(x) => format!("h{}", number(x)),
        Step::Down(y) => format!("v{}", number(y)),
        Step::RightTo(x) => format!("H{}", number(x)),
        Step::DownTo(y) => format!("V{}", number(y)),
        Step::Half(y) => {
            let radius = number(y.abs() / 2.0);
            format!("a{radius} {radius} 0 1 1 {}", distance(0.0, y))
        }
        Step::Close => "z".to_owned(),
    }
}

/// Two numbers, without a space where the sign of the second separates them.
fn distance(x: f64, y: f64) -> String {
    let (x, y) = (number(x), number(y));
    let space = if y.starts_with('-') { "" } else { " " };
    format!("{x}{space}{y}")
}

/// A coordinate to a tenth of a unit, because smaller differences are invisible.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_written_as_svg_writes_them() {
        let steps = [
            Step::From(1.0, -2.0),
            Step::To(3.25, 4.04),
            Step::Skip(-3.5, 0.0),
            Step::By(6.2, -11.5),
            Step::Right(7.0),
            Step::Down(-0.04),
            Step::RightTo(1.8),
            Step::DownTo(9.6),
            Step::Half(11.0),
            Step::Half(-11.0),
            Step::Close,
        ];
        let expected =
            "M1 -2L3.2 4m-3.5 0l6.2-11.5h7v0H1.8V9.6a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11z";
        assert_eq!(text(&steps), expected);
    }
}
