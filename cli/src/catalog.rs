//! The targets that can be compared: the engines of this build and the guests.

use larder_bench::guest;
use larder_store::Catalog;

/// The engines of this build and, behind them, the caches of other languages.
pub(crate) const CATALOG: Catalog = larder::ENGINES.with_guests(guest::GUESTS);
