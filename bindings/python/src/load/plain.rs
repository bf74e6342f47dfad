//! Values that are loaded into a store without tiers.

use std::thread::sleep;
use std::time::{Duration, Instant};

use larder::Session;
use pyo3::prelude::*;

use super::{Load, is_failure};
use crate::errors::raised;
use crate::lease::{LeaseAnswer, Right, ask, end};
use crate::sessions::Opened;

/// The first pause between two looks at a key that another caller loads, and the longest.
pub(super) const PAUSES: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(50)];

/// The end of a wait. One that no clock reaches never comes.
pub(super) fn deadline(wait: Duration) -> Option<Instant> {
    Instant::now().checked_add(wait)
}

/// The time until a deadline; zero where it has passed.
pub(super) fn left(deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
}

/// The value of a key, from the store or from the loader.
pub(super) fn one<'py>(
    py: Python<'py>,
    opened: &Opened,
    session: &mut dyn Session,
    key: &[u8],
    load: Load<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (lease, early) = (load.rules.lease, opened.loads.draw_early(load.rules.early));
    let (mut value, deadline) = (Vec::new(), deadline(load.rules.wait));
    let [mut pause, longest] = PAUSES;
    loop {
        let asked = opened
            .writing(py, || ask(session, &opened.leads, key, &mut value, lease, early))
            .map_err(|error| raised(&error))?;
        let (right, older) = match asked {
            LeaseAnswer::Found(meta) => return load.forms.value(py, &value, meta.flags),
            LeaseAnswer::Load(right, older) => (right, older),
            LeaseAnswer::Wait => {
                let left = left(deadline);
                if !left.is_zero() {
                    py.detach(|| sleep(pause.min(left)));
                    // A signal such as Ctrl-C ends the wait.
                    py.check_signals()?;
                    pause = longest.min(2 * pause);
                    continue;
                }
                (Right::Nothing, None)
            }
        };
        let begun = Instant::now();
        let made = load.loader.call0();
        opened.loads.took(begun.elapsed());
        let kept = match &made {
            Ok(value) => load.forms.stored(value).map(Some),
            Err(_) => Ok(None),
        };
        opened.writing(py, || {
            let kept = kept.as_ref().ok().and_then(Option::as_ref);
            end(session, &opened.leads, key, right, kept.map(|value| (value, load.rules.ttl)));
        });
        kept?;
        return match (made, older) {
            (Err(error), Some(meta)) if is_failure(py, &error) => {
                load.forms.value(py, &value, meta.flags)
            }
            (made, _) => made,
        };
    }
}
