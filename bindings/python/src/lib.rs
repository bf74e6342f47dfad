//! Larder's caches for Python: the module `larder._larder`, which the package `larder` shows.

mod arguments;
mod errors;
mod fork;
mod keys;
mod lease;
mod load;
mod sessions;
mod store;
mod values;

use pyo3::prelude::*;

/// Larder's caches. Use the package `larder`.
#[pymodule]
fn _larder(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fork::follow(module.py())?;
    errors::add(module)?;
    module.add_class::<store::Store>()?;
    module.add_class::<lease::Answer>()?;
    module.add_function(wrap_pyfunction!(store::open, module)?)
}
