//! Traces, sent to a collector over OTLP.
//!
//! One span per request, named after its call, with its parts below it; a caller's own trace (`traceparent`) goes on in it.

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
use tracing::Span;
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt as _};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::config::{Config, ConfigError, TraceSettings};
use crate::front::REQUEST_SPAN;

/// How long the last spans may take to be sent at the end.
const LAST: Duration = Duration::from_secs(3);

/// The way to the collector.
#[derive(Debug)]
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Opens it, where the settings name a collector. Whether one answers there shows later, in the log.
    pub(super) fn start(config: &Config) -> Result<Option<Self>, ConfigError> {
        let TraceSettings { endpoint, share } = &config.settings.trace;
        let Some(endpoint) = endpoint else { return Ok(None) };
        let exporter = opentelemetry_otlp::SpanExporter::builder().with_tonic();
        let exporter = exporter.with_endpoint(endpoint).build();
        let exporter =
            exporter.map_err(|error| config.refuse("trace.endpoint", error.to_string()))?;
        let resource = Resource::builder()
            .with_service_name("weft")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(ByCall(exporter))
            // Who asks decides about its own trace; the share is of those that begin here.
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(*share))))
            .with_resource(resource.build());
        Ok(Some(Self(provider.build())))
    }

    /// What turns our spans into those of a trace.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    {
        let layer: OpenTelemetryLayer<S, SdkTracer> =
            tracing_opentelemetry::layer().with_tracer(self.0.tracer("weft"));
        layer.with_filter(filter_fn(|of| of.is_span() && super::is_own(of)))
    }

    pub(super) fn end(self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST) {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}

/// Makes `span` a part of the caller's trace, where `headers` name one.
pub(crate) fn continue_trace(span: &Span, headers: &HeaderMap) {
    let context = TraceContextPropagator::new().extract(&Headers(headers));
    // It fails where traces are not sent, and nothing is to be done then.
    let _ = span.set_parent(context);
}

/// Says in `span` how its request ended.
pub(crate) fn end_trace(span: &Span, code: Code) {
    span.set_attribute("rpc.grpc.status_code", i64::from(code as i32));
    // Of the codes, these are the server's own fault. Source: OpenTelemetry, semantic conventions for gRPC.
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
        span.set_status(Status::error(crate::front::code_name(code)));
    }
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

/// Names each request's span after its call, as collectors group them, and sends it on.
#[derive(Debug)]
struct ByCall<E>(E);

impl<E: SpanExporter> SpanExporter for ByCall<E> {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        self.0.export(batch.into_iter().map(by_call).collect())
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

fn by_call(mut span: SpanData) -> SpanData {
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
