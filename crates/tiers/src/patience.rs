//! The longest time of a read: the option `soft_timeout` of a stack.
//!
//! The clients of a tier's servers keep the time, because they alone can leave an answer that comes too late to nobody. They
//! tell reads from writes too, so a session is told once, when it is opened.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{Error, Result, Session};

use crate::SCHEME;
use crate::tier::Tier;

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

/// Refuses a stack with a tier whose reads cannot be bounded.
///
/// A tier that opens no session now may do so later, so its failure is no reason to refuse the stack.
pub(crate) fn check(tiers: &[Arc<Tier>]) -> Result<()> {
    for tier in tiers {
        if tier.soft_timeout.is_some()
            && let Ok(mut session) = tier.store.session()
        {
            bound_reads(&mut *session, &tier.name, tier.soft_timeout)?;
        }
    }
    Ok(())
}
