//! Repeats, outside the measured loop, operations that may succeed at another attempt.

use larder_store::{Error, Result};

/// The number of attempts of an operation.
const ATTEMPTS: u32 = 5;
/// The number of attempts of an operation without an answer: each attempt takes as long as the client
/// waits.
const UNANSWERED: u32 = 2;

/// Repeats an operation until it succeeds, fails for good, or has failed often enough.
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let mut unanswered = 0;
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error @ Error::Timeout { .. }) => {
                unanswered += 1;
                if unanswered == UNANSWERED {
                    return Err(error);
                }
            }
            Err(error) if error.is_retryable() => {}
            done => return done,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The number of attempts of an operation that always fails with this error.
    fn tries(error: impl Fn() -> Error) -> u32 {
        let mut tries = 0;
        let tried: Result<()> = patiently(|| {
            tries += 1;
            Err(error())
        });
        assert!(tried.is_err());
        tries
    }

    #[test]
    fn an_operation_is_tried_again_once_after_a_timeout_and_a_few_times_after_a_quick_failure() {
        let silent =
            || Error::Timeout { engine: "it", peer: "there".into(), after: Duration::from_secs(5) };
        assert_eq!(tries(silent), 2);
        assert_eq!(tries(|| Error::Busy { engine: "it", what: "busy".into() }), 5);
        assert_eq!(tries(|| Error::Full { engine: "it", what: "full".into() }), 1);
    }
}
