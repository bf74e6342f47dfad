//! What tests of real servers share.

use larder_host::managed;
use larder_store::Recipe;
use larder_testkit::trial_where;
use libtest_mimic::Trial;

/// The server that most of these tests use.
pub(crate) const MEMCACHED: Recipe = Recipe { program: "memcached", package: "memcached" };

/// A trial that needs the program of `recipe`.
pub(crate) fn trial_with(recipe: &'static Recipe, name: &str, run: fn()) -> Trial {
    let installed = || managed::find("test", recipe).map(drop).map_err(|error| error.to_string());
    trial_where(installed, name, run)
}
