//! The limits of the time between two samples.

use std::time::Duration;

/// The shortest time between two samples: a server has other work than statistics.
pub const SHORTEST: Duration = Duration::from_millis(100);

/// The longest time between two samples.
pub const LONGEST: Duration = Duration::from_hours(1);
