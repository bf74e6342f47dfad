//! The log of slow requests.

use std::time::Duration;

use larder_protocol::{binary, meta, text};
use larder_store::{agreeing, count};

use crate::context::Context;
use crate::log::Level;

/// Bytes of a request's line that are shown; its value never is.
const SHOWN: usize = 100;

/// Logs a request, which begins with these bytes, where it took too long.
pub(crate) fn log_if_slow(request: &[u8], time: Duration, context: &Context) {
    let settings = &context.shared.settings;
    if settings.slow.is_none_or(|least| time < least) {
        return;
    }
    let shown = shown(request);
    let micros = time.as_micros();
    let message = format!("a request took {:.3} ms: {shown}", time.as_secs_f64() * 1e3);
    let fields: &[(&str, &dyn std::fmt::Display)] = &[("request", &shown), ("us", &micros)];
    settings.log.say(Level::Warning, "slow", &message, fields);
}

/// The beginning of a request's line, in letters that a log may have.
fn shown(request: &[u8]) -> String {
    let line = if request.first() == Some(&binary::REQUEST_MAGIC) {
        match binary::parse_request(request) {
            Ok(binary::Arrived::Whole(_, len)) => &request[..len],
            _ => &request[..1],
        }
    } else {
        let line = request.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let is_known =
            matches!(meta::parse_request(line), Ok(Some(_))) || text::parse_request(line).is_ok();
        if !is_known {
            // It may be a value that its client has given another length.
            let are = agreeing(line.len(), "is", "are");
            return format!("{} that {are} no request", count(line.len(), "byte"));
        }
        line
    };
    let short = &line[..line.len().min(SHOWN)];
    let more = if short.len() < line.len() { "…" } else { "" };
    format!("{}{more}", short.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_without_its_value_and_not_whole_where_it_is_long() {
        assert_eq!(shown(b"set k\x07 0 0 6\r\nsecret\r\n"), "set k\\x07 0 0 6");
        assert_eq!(shown(b"cret-too-long\r\n"), "13 bytes that are no request");
        let long = shown(&[b"get ", &[b'k'; 250][..], b" ", &[b'k'; 50]].concat());
        assert_eq!(long.chars().count(), SHOWN + 1);
        let mut binary = vec![0x80, 1, 0, 1, 8, 0, 0, 0, 0, 0, 0, 15];
        binary.resize(32, 0);
        binary.extend_from_slice(b"ksecret");
        assert!(shown(&binary).ends_with('k'), "{}", shown(&binary));
        assert!(!shown(&binary).contains("secret"));
    }
}
