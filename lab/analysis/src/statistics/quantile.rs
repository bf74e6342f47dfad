//! The median and other quantiles.

/// The value below which half of `values` lies: of an even number, the middle of the middle two. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the share `q` (0 to 1) of `values` lies, interpolated between neighbours. It is definition 7
/// of Hyndman and Fan (1996), the default of R and `NumPy`. `None` without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut values = values.to_vec();
    quantile_in_place(&mut values, q)
}

/// The same quantile without a copy; it reorders `values`.
pub(super) fn quantile_in_place(values: &mut [f64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    #[expect(clippy::cast_precision_loss, reason = "samples are few")]
    let place = q.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and last"
    )]
    let below = place as usize;
    let (_, &mut low, rest) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(low + (high - low) * place.fract())
}
