//! Reads that load what is absent: in a stack by the stack, and in any other store by its leases.

mod many;
mod plain;
mod stack;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pub(crate) use self::many::{all, many};
use crate::arguments::seconds;
use crate::errors::raised;
use crate::sessions::{Handle, Opened};
use crate::values::Forms;

/// How a value is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) ttl: Option<Duration>,
    /// The longest wait for the load of another caller.
    wait: Duration,
    /// The time after which another caller is told to load.
    lease: Duration,
    /// The factor by which a value is loaded before its TTL is over; 0 is never.
    early: f64,
}

impl Rules {
    pub(crate) fn new(ttl: Option<Duration>, wait: f64, lease: f64, early: f64) -> PyResult<Self> {
        if !(early >= 0.0 && early.is_finite()) {
            return Err(PyValueError::new_err(format!("early is {early}; write 0 or more")));
        }
        let (wait, lease) = (seconds("wait", wait)?, seconds("lease", lease)?);
        Ok(Self { ttl, wait, lease, early })
    }
}

/// What a load needs besides its keys.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a, 'py> {
    pub(crate) loader: &'a Bound<'py, PyAny>,
    pub(crate) forms: Forms<'a>,
    pub(crate) rules: Rules,
}

/// The value of a key, from the store or from the loader.
pub(crate) fn one<'py>(
    py: Python<'py>,
    opened: &Opened,
    key: &[u8],
    load: Load<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut handle = opened.take().map_err(|error| raised(&error))?;
    let value = match &mut handle {
        Handle::Stack(session) => stack::one(py, session, key, load),
        Handle::Plain(session) => plain::one(py, opened, &mut **session, key, load),
    };
    opened.give(handle);
    value
}

/// Whether an older value may stand for what a loader raised. What ends a program is no failure of the loader.
fn is_failure(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py)
}

/// The mean time of the loads of a store without tiers, in nanoseconds; 0 before the first.
#[derive(Default)]
pub(crate) struct MeanLoad(AtomicU64);

impl MeanLoad {
    /// Counts a load. Later ones weigh more, an eighth each.
    fn took(&self, time: Duration) {
        let took = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.0.load(Ordering::Relaxed);
        let mean = if mean == 0 { took } else { mean - mean / 8 + took / 8 };
        self.0.store(mean, Ordering::Relaxed);
    }

    /// The time before the end of a TTL from which on a read loads, drawn as a stack draws it. (Vattani and others, "Optimal
    /// Probabilistic Cache Stampede Prevention", 2015.)
    fn draw_early(&self, factor: f64) -> Duration {
        if factor == 0.0 {
            return Duration::ZERO;
        }
        let mean = Duration::from_nanos(self.0.load(Ordering::Relaxed)).as_secs_f64();
        // Each hasher of the standard library has random keys. The upper bits make a number above 0 and up to 1.
        let bits = u32::try_from(RandomState::new().hash_one(0_u8) >> 32).unwrap_or_default();
        let draw = (f64::from(bits) + 1.0) / (f64::from(u32::MAX) + 1.0);
        Duration::try_from_secs_f64(-draw.ln() * mean * factor).unwrap_or_default()
    }
}
