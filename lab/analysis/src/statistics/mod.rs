//! Statistics of rounds: medians, their intervals, and whether two targets differ at all.
//!
//! Everything here is distribution-free. Rates of caches have long tails, jumps and outliers, and there are few rounds.
//! A mean and a standard deviation would describe them badly, and a t-test would assume a normal distribution.
//!
//! A comparison takes four steps: the [`Difference`] of two samples, a list of all p, [`holm`] over the list,
//! [`Difference::verdict`] with the corrected p. The report decides whether the rounds suffice for any verdict:
//! [`larder_report::rounds_for_verdict`].

mod bootstrap;
mod difference;
mod holm;
mod latency;
mod outliers;
mod quantile;
mod ranks;
mod rounds;
mod trend;

pub use bootstrap::half_width;
pub use bootstrap::{LEAST, RESAMPLES, median_ci95, ratio_ci95};
pub use difference::Difference;
pub use holm::holm;
pub use latency::percentiles_ci95;
pub use outliers::{LEAST_FOR_OUTLIERS, OUTLYING, modified_z, outliers};
pub use quantile::{median, quantile};
pub use ranks::{EXACT_UP_TO, mann_whitney};
pub use rounds::{EXCHANGES_EXACT_UP_TO, within_rounds};
pub use trend::{Drift, TREND_EXACT_UP_TO, mann_kendall, sen_slope};
