//! The export: batches of spans as OTLP, sent by HTTP from a thread.

use std::env;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use larder_server::{Level, LogFormat};
use opentelemetry::{KeyValue, global};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, SpanData, SpanExporter};
use ureq::Agent;

/// The longest time of one request to the collector.
const LONGEST: Duration = Duration::from_secs(5);

/// The longest time for which the end of the server waits for the last spans.
const LAST: Duration = Duration::from_secs(3);

/// The longest answer of a collector.
const ANSWER_BYTES: u64 = 64 << 10;

/// A running export.
pub(in crate::command::serve) struct Export {
    provider: SdkTracerProvider,
}

impl Export {
    /// Begins to export the spans of this process; `share` of the requests have some.
    pub(super) fn begin(
        collector: &str,
        share: Option<f64>,
        log: LogFormat,
    ) -> anyhow::Result<Self> {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(collector)
            .with_http_client(Client::new())
            .build()?;
        let exporter = LoggingExporter {
            exporter,
            collector: collector.to_owned(),
            log,
            fails: AtomicBool::new(false),
            n_lost: AtomicU64::new(0),
        };
        let mut builder =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource());
        if let Some(share) = share {
            let sampler = Sampler::TraceIdRatioBased(share);
            builder = builder.with_sampler(Sampler::ParentBased(Box::new(sampler)));
        }
        let provider = builder.build();
        global::set_tracer_provider(provider.clone());
        let message = format!("spans go to {collector}");
        log.say(Level::Info, "traces", &message, &[("collector", &collector)]);
        Ok(Self { provider })
    }

    /// Sends what waits, and ends.
    pub(in crate::command::serve) fn end(self) {
        // The exporter has told of a failure.
        let _ = self.provider.shutdown_with_timeout(LAST);
    }
}

/// What collectors know of this process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go before it.
fn resource() -> Resource {
    let attributes = env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let is_named = env::var_os("OTEL_SERVICE_NAME").is_some_and(|name| !name.is_empty())
        || attributes.split(',').any(|it| it.trim_start().starts_with("service.name="));
    let builder = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())));
    if is_named { builder.build() } else { builder.with_service_name("larder").build() }
}

/// The exporter, which tells once that it fails, and once that it does no more.
#[derive(Debug)]
struct LoggingExporter {
    exporter: opentelemetry_otlp::SpanExporter,
    collector: String,
    log: LogFormat,
    fails: AtomicBool,
    n_lost: AtomicU64,
}

impl SpanExporter for LoggingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let n = batch.len() as u64;
        let done = self.exporter.export(batch).await;
        match &done {
            Err(error) => {
                self.n_lost.fetch_add(n, Ordering::Relaxed);
                if !self.fails.swap(true, Ordering::Relaxed) {
                    let collector = &self.collector;
                    let message =
                        format!("spans are lost: {collector} does not take them: {error}");
                    self.log.say(Level::Warning, "traces_lost", &message, &[("error", error)]);
                }
            }
            Ok(()) if self.fails.swap(false, Ordering::Relaxed) => {
                let n = self.n_lost.swap(0, Ordering::Relaxed);
                let were = larder_store::agreeing(n, "was", "were");
                let message = format!("{} takes spans again; {n} {were} lost", self.collector);
                self.log.say(Level::Info, "traces_taken", &message, &[("lost", &n)]);
            }
            Ok(()) => {}
        }
        done
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// A client that waits in the exporter's thread.
#[derive(Debug)]
struct Client(Agent);

impl Client {
    fn new() -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(LONGEST))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self(config.into())
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let answer = self.0.run(Request::from_parts(parts, &body[..]))?;
        let (parts, mut body) = answer.into_parts();
        let body = body.with_config().limit(ANSWER_BYTES).read_to_vec()?;
        Ok(Response::from_parts(parts, body.into()))
    }
}

impl HttpClient for Client {
    fn send_bytes<'client, 'answer>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'answer>>
    where
        'client: 'answer,
        Self: 'answer,
    {
        Box::pin(async { self.send(request) })
    }
}
