//! Figures as results hold them: shares of a mix, and as many digits as a measurement has.

/// A figure to seven digits: no measurement has more, and a result holds many thousand of them.
pub(super) fn shortened(figure: f64) -> f64 {
    format!("{figure:.6e}").parse().unwrap_or(figure)
}

/// `some` of `all`, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(super) fn part(some: u64, all: u64) -> f64 {
    if all > 0 { some as f64 / all as f64 } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "a count times a share")]
pub(super) fn scaled(count: u64, share: f64) -> u64 {
    whole(count as f64 * share)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count, which is never negative"
)]
pub(super) fn whole(count: f64) -> u64 {
    count.round() as u64
}
