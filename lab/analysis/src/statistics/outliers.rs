//! Figures that lie far from all others: the modified z-score of Iglewicz and Hoaglin (1993).

use super::quantile::median;

/// Beyond this score a figure is called an outlier, as its authors recommend.
pub const OUTLYING: f64 = 3.5;
/// With fewer figures the median distance is a poor estimate of their spread.
pub const LEAST_FOR_OUTLIERS: usize = 8;
/// A figure nearer to the median than this share of it is never an outlier. Where all others lie within a hundredth,
/// two hundredths score high and do not matter.
const NEAR: f64 = 0.1;

/// The distance of each figure from the median, in units in which a normal distribution has a standard deviation of 1.
/// `None` where more than half of the figures are the same, because there is no unit.
pub fn modified_z(values: &[f64]) -> Option<Vec<f64>> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let unit = median(&distances).filter(|unit| *unit > 0.0)?;
    Some(values.iter().map(|value| 0.6745 * (value - centre) / unit).collect())
}

/// The outliers among figures above zero: the index, the ratio to the median of all, and the score of each.
pub fn outliers(values: &[f64]) -> Vec<(usize, f64, f64)> {
    let centre = median(values).filter(|centre| *centre > 0.0);
    let (Some(centre), Some(scores)) = (centre, modified_z(values)) else { return Vec::new() };
    if values.len() < LEAST_FOR_OUTLIERS {
        return Vec::new();
    }
    let all = values.iter().zip(scores).enumerate();
    all.map(|(at, (value, score))| (at, value / centre, score))
        .filter(|(_, ratio, score)| score.abs() > OUTLYING && (ratio - 1.0).abs() > NEAR)
        .collect()
}
