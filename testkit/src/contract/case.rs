//! A case: one promise of the contract.

use libtest_mimic::Failed;

use super::fixture::Fixture;
use super::need::Need;

/// One promise of the contract.
pub(super) struct Case {
    /// The promise as a sentence, underscores for spaces.
    pub(super) name: &'static str,
    /// The needs of the case; where the store lacks one, the case is ignored.
    pub(super) needs: &'static [Need],
    /// Whether the case starts this program a second time, which programs with another `main` than the contract's cannot do.
    pub(super) spawns: bool,
    /// Runs the case.
    pub(super) run: fn(&Fixture) -> Result<(), Failed>,
}

/// A case with the name of its function, so that the two cannot differ. It needs a store that stores; `null:` has its own cases in
/// `nothing.rs`.
macro_rules! case {
    ($run:ident $(, $need:ident)*) => {
        $crate::contract::case::Case {
            name: stringify!($run),
            needs: &[$crate::contract::need::STORES $(, $crate::contract::need::$need)*],
            spawns: false,
            run: $run,
        }
    };
}
pub(super) use case;
