//! `--traces`: spans of requests, for a collector of OpenTelemetry.
//!
//! The server asks the store for spans (`?spans=on`), and each request calls the store alone, so that its span is a root. A
//! thread of the exporter sends them in batches. No request waits for it: a span that finds its queue full is lost.

#[cfg(feature = "otel")]
mod export;

use std::env;

use larder_server::{Level, LogFormat};
use larder_store::StoreUrl;

use crate::exit::Usage;

/// The options of traces.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Send spans to the collector of OpenTelemetry at this address, such as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    traces: Option<String>,
    /// The share of requests that have spans, such as `1%`. Without it: that of `OTEL_TRACES_SAMPLER`, or all
    #[arg(long, value_name = "SHARE", value_parser = share)]
    trace_sample: Option<f64>,
}

/// The variables of the environment that name a collector, as every program with OpenTelemetry reads them. The first goes
/// before the second, and names the whole path.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

impl Options {
    /// The collector that the arguments name, or the environment. An address of the environment that cannot be one is told in
    /// the log and left out: it may be meant for other programs.
    pub(super) fn collector(&self, log: LogFormat) -> Result<Option<String>, Usage> {
        if let Some(url) = &self.traces {
            return Ok(Some(url.clone()));
        }
        let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
        let is_off = is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none");
        let told = |name: &str| env::var(name).ok().filter(|url| !is_off && !url.is_empty());
        let [own, common] = ENDPOINTS.map(told);
        let (name, address) = match (own, common) {
            (Some(own), _) => (ENDPOINTS[0], whole_address(&own).map(|()| own)),
            (None, Some(common)) => {
                (ENDPOINTS[1], whole_address(&common).map(|()| at_base(&common)))
            }
            (None, None) if self.trace_sample.is_some() => {
                let how = "name a collector by --traces URL";
                return Err(Usage(format!("--trace-sample without a collector: {how}")));
            }
            (None, None) => return Ok(None),
        };
        Ok(address
            .inspect_err(|why| {
                let message = format!("no spans are sent: {name} is not {why}");
                log.say(Level::Warning, "traces_left_out", &message, &[("variable", &name)]);
            })
            .ok())
    }

    /// Begins to export, before the store is opened: its sessions take their tracer then.
    #[cfg(feature = "otel")]
    pub(super) fn begin(&self, collector: &str, log: LogFormat) -> anyhow::Result<export::Export> {
        export::Export::begin(collector, self.trace_sample, log)
    }

    /// Refuses, because this build cannot export.
    #[cfg(not(feature = "otel"))]
    #[expect(clippy::unused_self, reason = "a build with traces needs it")]
    pub(super) fn begin(&self, collector: &str, _: LogFormat) -> anyhow::Result<Never> {
        let how = "this build has no traces; build it with --features otel";
        Err(Usage(format!("traces for {collector}: {how}")).into())
    }
}

/// An export that there cannot be.
#[cfg(not(feature = "otel"))]
pub(super) enum Never {}

#[cfg(not(feature = "otel"))]
impl Never {
    pub(super) fn end(self) {
        match self {}
    }
}

/// The URL of a store that has spans, unless it says otherwise.
pub(super) fn with_spans(url: StoreUrl) -> StoreUrl {
    url.or_option("spans", "on")
}

/// The address at which a collector takes spans: a URL without a path gets OpenTelemetry's.
fn endpoint(text: &str) -> Result<String, String> {
    whole_address(text)?;
    let path =
        text.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap_or_default().1;
    Ok(if path.is_empty() { at_base(text) } else { text.into() })
}

/// The address of spans below a base that a variable names.
fn at_base(base: &str) -> String {
    format!("{}/v1/traces", base.trim_end_matches('/'))
}

/// Refuses what is no address of a collector.
fn whole_address(text: &str) -> Result<(), String> {
    let wanted = || "an address such as http://127.0.0.1:4318".to_owned();
    let Some(rest) = text.strip_prefix("http://") else {
        return Err(format!("{}; without encryption", wanted()));
    };
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    if host.contains('@') {
        return Err(format!(
            "{}, without a user; OTEL_EXPORTER_OTLP_HEADERS has passwords",
            wanted()
        ));
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
    let is_whole = !name.is_empty()
        && name.chars().all(is_name)
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
        && !rest.contains(['?', '#', ' ']);
    if is_whole { Ok(()) } else { Err(wanted()) }
}

/// A share: `1%`, or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / whole);
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share such as 1%, from 0% to 100%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_gets_that_of_opentelemetry() {
        for (text, full) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://h/", "http://h/v1/traces"),
            ("http://h:4318/own/path", "http://h:4318/own/path"),
        ] {
            assert_eq!(endpoint(text).unwrap(), full);
        }
        for wrong in [
            "127.0.0.1:4318",
            "https://h",
            "http://",
            "http:///x",
            "http://:4318",
            "http://h:99999",
            "http://h%zz:4318",
            "http://user:secret@h:4318",
            "http://h:4318?x",
        ] {
            assert!(endpoint(wrong).is_err(), "{wrong}");
        }
        assert!(endpoint("http://[::1]:4318").is_ok() && endpoint("http://[::1]").is_ok());
        assert_eq!(at_base("http://h:4318/base"), "http://h:4318/base/v1/traces");
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these shares are exact")]
    fn a_share_is_a_number_or_percent() {
        assert_eq!(share("25%").unwrap(), 0.25);
        assert_eq!(share("0.5").unwrap(), 0.5);
        assert_eq!(share("100 %").unwrap(), 1.0);
        for wrong in ["101%", "-1%", "x", "2"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
