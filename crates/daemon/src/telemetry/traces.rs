//! Traces, exported over OTLP.
//!
//! Each request is one span named after its RPC, with child spans for its stages; it continues the client's trace (`traceparent`).

use std::time::Duration;

use http::HeaderMap;
use opentelemetry::KeyValue;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, SpanData, SpanExporter};
use tonic::Code;
use tracing::{Metadata, Span};
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt as _};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::config::{Config, ConfigError, TraceSettings};
use crate::grpc_code::code_name;

/// Name of the span of a request.
pub(crate) const REQUEST_SPAN: &str = "request";

/// Maximum time to send the last spans at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The exporter of traces.
#[derive(Debug)]
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Creates the exporter if the settings name a collector. An unreachable collector is reported later, in the log.
    pub(super) fn start(config: &Config) -> Result<Option<Self>, ConfigError> {
        let TraceSettings { endpoint, sample_ratio } = &config.settings.trace;
        let Some(endpoint) = endpoint else { return Ok(None) };
        let exporter = opentelemetry_otlp::SpanExporter::builder().with_tonic();
        let exporter = exporter.with_endpoint(endpoint).build();
        let exporter =
            exporter.map_err(|error| config.refuse("trace.endpoint", error.to_string()))?;
        let resource = Resource::builder()
            .with_service_name("weft")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(NameByCall(exporter))
            // The client decides about sampling its own trace; the ratio applies to traces that begin here.
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(*sample_ratio))))
            .with_resource(resource.build());
        Ok(Some(Self(provider.build())))
    }

    /// Returns the layer that exports this program's spans.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    {
        let layer: OpenTelemetryLayer<S, SdkTracer> =
            tracing_opentelemetry::layer().with_tracer(self.0.tracer("weft"));
        layer.with_filter(filter_fn(|of| of.is_span() && is_own(of)))
    }

    pub(super) fn end(self) {
        if let Err(error) = self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::warn!(%error, "cannot send the remaining traces");
        }
    }
}

/// Makes `span` part of the client's trace, if `headers` name one.
pub(crate) fn continue_trace(span: &Span, headers: &HeaderMap) {
    let context = TraceContextPropagator::new().extract(&Headers(headers));
    // This fails when traces are disabled, and needs no handling.
    let _ = span.set_parent(context);
}

/// Records the outcome of a request in its `span`.
pub(crate) fn end_trace(span: &Span, code: Code) {
    span.set_attribute("rpc.grpc.status_code", i64::from(code as i32));
    // These codes are server errors. Source: OpenTelemetry, semantic conventions for gRPC.
    let failed = matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    );
    if failed {
        span.set_status(Status::error(code_name(code)));
    }
}

/// Returns whether an event or span comes from this program's own code, judged by its target.
pub(super) fn is_own(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("weft")
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// Exporter that names each request's span after its RPC, as collectors expect.
#[derive(Debug)]
struct NameByCall<E>(E);

impl<E: SpanExporter> SpanExporter for NameByCall<E> {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        self.0.export(batch.into_iter().map(name_by_call).collect())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn name_by_call(mut span: SpanData) -> SpanData {
    if span.name != REQUEST_SPAN {
        return span;
    }
    span.span_kind = SpanKind::Server;
    let call = span.attributes.iter().find(|attribute| attribute.key.as_str() == "call");
    if let Some(call) = call.map(|attribute| attribute.value.as_str().into_owned()) {
        span.name = call.trim_start_matches('/').to_owned().into();
    }
    span
}
