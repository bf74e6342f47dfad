//! What tests of real servers share.

use larder_engines::managed;
use larder_store::Recipe;
use libtest_mimic::{Completion, Failed, Trial};

/// The server that most of these tests use.
pub(crate) const MEMCACHED: Recipe = Recipe { program: "memcached", package: "memcached" };

/// A trial that needs the program of `recipe`. Without it, it shows as ignored with the reason; with
/// `LARDER_REQUIRE=all` in the environment it fails.
pub(crate) fn trial_with(recipe: &'static Recipe, name: &str, run: fn()) -> Trial {
    Trial::ignorable_test(name, move || match managed::find("test", recipe) {
        Ok(_) => {
            run();
            Ok(Completion::Completed)
        }
        Err(error) if std::env::var("LARDER_REQUIRE").is_ok_and(|what| what == "all") => {
            Err(Failed::from(error.to_string()))
        }
        Err(error) => Ok(Completion::ignored_with(error.to_string())),
    })
}
