//! Trials that need something of the machine: a server, a privilege.

use libtest_mimic::{Completion, Failed, Trial};

/// Whether nothing may be left out: `LARDER_REQUIRE=all` in the environment, as continuous integration sets it.
pub fn everything_is_required() -> bool {
    std::env::var("LARDER_REQUIRE").is_ok_and(|what| what == "all")
}

/// A trial that runs where `need` is met. Elsewhere it shows as ignored with the reason, or fails when
/// [`everything_is_required`]. A test that panics has failed.
pub fn trial_where(
    need: impl FnOnce() -> Result<(), String> + Send + 'static,
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || match need() {
        Ok(()) => {
            run();
            Ok(Completion::Completed)
        }
        Err(reason) if everything_is_required() => Err(Failed::from(reason)),
        Err(reason) => Ok(Completion::ignored_with(reason)),
    })
}
