//! Lanes of tests: every change runs the trials of its own lane, and `just nightly` runs all trials but the few that take an
//! hour, which have recipes of their own in the justfile.
//!
//! A trial belongs to the nightly lane for one of two reasons. It takes long, or it needs a server that the run of a
//! change does not install. Its kind is `nightly`, so `cargo test -- '[nightly]'` selects such trials and `--list` shows
//! them.

use libtest_mimic::Trial;

/// Whether the trials of the nightly lane run: `LARDER_LANE=nightly` in the environment.
pub fn is_nightly() -> bool {
    std::env::var("LARDER_LANE").is_ok_and(|lane| lane == "nightly")
}

/// Puts trials into the nightly lane. Every other run shows them as ignored.
pub fn nightly(trials: impl IntoIterator<Item = Trial>) -> impl Iterator<Item = Trial> {
    trials.into_iter().map(|trial| nightly_if(true, trial))
}

/// Puts a trial into the nightly lane where the condition holds.
pub fn nightly_if(condition: bool, trial: Trial) -> Trial {
    if !condition {
        return trial;
    }
    let ignored = !is_nightly() || trial.has_ignored_flag();
    trial.with_kind("nightly").with_ignored_flag(ignored)
}
