//! The longest time of a read: the option `soft_timeout` of a stack.
//!
//! The clients of a tier's servers keep the time, because only a client can discard an answer that comes too late. They
//! also distinguish reads from writes, so a session gets the bound once, when it is opened.

use std::time::Duration;

use larder_store::{Error, Result, Session};

use crate::SCHEME;

/// Bounds the reads of a tier's session.
pub(crate) fn bound_reads(
    session: &mut dyn Session,
    tier: &str,
    longest: Option<Duration>,
) -> Result<()> {
    let Some(longest) = longest else { return Ok(()) };
    session.set_read_timeout(Some(longest)).map_err(|error| match error {
        Error::Unsupported { .. } => Error::InvalidOptions {
            engine: SCHEME,
            reason: format!(
                "option `soft_timeout`: the reads of {tier} have no such bound; memcached: and redis: have one; leave the \
                 option out"
            ),
        },
        other => other,
    })
}
