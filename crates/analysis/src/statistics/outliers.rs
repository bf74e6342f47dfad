//! Figures that lie far from all others: the modified z-score of Iglewicz and Hoaglin (1993).

use super::quantile::median;

/// Beyond this score a figure is called an outlier, as its authors recommend.
pub const OUTLYING: f64 = 3.5;
/// Of fewer figures the median distance says too little of how far they usually lie apart.
pub const LEAST_FOR_OUTLIERS: usize = 8;
/// Nearer to the median than this share of it, nothing is called an outlier: where all others lie within a hundredth, two
/// hundredths are far by any score, and matter to nobody.
const NEAR: f64 = 0.1;

/// How far each figure lies from the median, in units in which a normal distribution has a standard deviation of 1. `None`
/// where more than half of them are the same, so that there is no unit.
pub fn modified_z(values: &[f64]) -> Option<Vec<f64>> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let unit = median(&distances).filter(|unit| *unit > 0.0)?;
    Some(values.iter().map(|value| 0.6745 * (value - centre) / unit).collect())
}

/// The outliers among figures above zero: which, over the median of all, and their score.
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
