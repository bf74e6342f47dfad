//! Forks of the process, such as those of gunicorn: a child opens its stores anew.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The number of forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The number of this process's generation.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

#[pyfunction]
fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Has Python count each fork, in the child.
pub(crate) fn follow(py: Python<'_>) -> PyResult<()> {
    let arguments = PyDict::new(py);
    arguments.set_item("after_in_child", wrap_pyfunction!(forked, py)?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&arguments))?;
    Ok(())
}
