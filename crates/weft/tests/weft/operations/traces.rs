//! Traces as received by a collector.

use std::collections::HashSet;
use std::sync::mpsc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use tonic::{Request, Response, Status};

use super::{Running, command, example, free_port, run};

/// Forwards every received span.
struct Collector(mpsc::Sender<Span>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            // The test may have stopped reading.
            let _ = self.0.send(span);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[test]
fn request_is_traced_with_its_stages() {
    let home = tempfile::tempdir().unwrap();
    let (collector, address) = (free_port(), format!("127.0.0.1:{}", free_port()));
    let (sender, spans) = mpsc::channel();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = TraceServiceServer::new(Collector(sender));
    let server = tonic::transport::Server::builder().add_service(service);
    runtime.spawn(server.serve(([127, 0, 0, 1], collector).into()));

    let endpoint = format!("trace.endpoint=http://127.0.0.1:{collector}");
    let example = example();
    let arguments = ["serve", example.to_str().unwrap(), "--addr", &address, "--set", &endpoint];
    let daemon = Running(command(home.path(), &arguments).spawn().unwrap());
    while !run(home.path(), &["search", "leap second", "--addr", &address]).status.success() {
        std::thread::sleep(Duration::from_millis(50));
    }
    // Pending spans are exported at shutdown.
    daemon.signal("-TERM");
    let mut missing = HashSet::from(["noteweft.v1.SearchService/Search", "computing"]);
    while !missing.is_empty() {
        let span = spans.recv_timeout(Duration::from_secs(20));
        let span = span.unwrap_or_else(|_| panic!("not exported: {missing:?}"));
        missing.remove(&*span.name);
    }
    drop(daemon);
}
