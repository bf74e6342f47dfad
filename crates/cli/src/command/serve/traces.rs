//! `--traces`: spans of requests, for a collector of OpenTelemetry.
//!
//! The server asks the store for spans (`?spans=on`), and each request calls the store alone, so that its span is a root. A
//! thread of the exporter sends them in batches. No request waits for it: a span that finds its queue full is lost.

#[cfg(feature = "otel")]
mod export;

use std::env;

use larder_server::LogFormat;
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
    /// The collector that the arguments name, or the environment.
    pub(super) fn collector(&self) -> Result<Option<String>, Usage> {
        if let Some(url) = &self.traces {
            return Ok(Some(url.clone()));
        }
        let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
        let is_off = is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none");
        let told = |name: &str| env::var(name).ok().filter(|url| !is_off && !url.is_empty());
        let [own, common] = ENDPOINTS.map(told);
        let (name, url) = match (own, common) {
            (Some(own), _) => (ENDPOINTS[0], Ok(own)),
            (None, Some(common)) => (ENDPOINTS[1], endpoint(&common)),
            (None, None) => return Ok(None),
        };
        url.map(Some).map_err(|why| Usage(format!("{name}: {why}")))
    }

    /// Begins to export, before the store is opened: its sessions take their tracer then.
    #[cfg(feature = "otel")]
    pub(super) fn begin(&self, collector: &str, log: LogFormat) -> anyhow::Result<export::Export> {
        export::Export::begin(collector, self.trace_sample, log)
    }

    /// Refuses, because this build cannot export.
    #[cfg(not(feature = "otel"))]
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
    let Some(rest) = text.strip_prefix("http://") else {
        return Err("an address such as http://127.0.0.1:4318; without encryption".into());
    };
    match rest.split_once('/') {
        None | Some((_, "")) if !rest.trim_end_matches('/').is_empty() => {
            Ok(format!("{}/v1/traces", text.trim_end_matches('/')))
        }
        Some((host, _)) if !host.is_empty() => Ok(text.into()),
        _ => Err("an address such as http://127.0.0.1:4318".into()),
    }
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
        for wrong in ["127.0.0.1:4318", "https://h", "http://", "http:///x"] {
            assert!(endpoint(wrong).is_err(), "{wrong}");
        }
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
