//! Observability: metrics and request ids.

use std::time::Duration;

use serde_json::{Value, json};
use tonic::Request;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{SearchRequest, StatusRequest};
use weft_testkit::http_stub::{HttpStub, RecordedRequest, StubResponse};
use weft_tests::{Failure, TestDaemon, example, health_states, is_skipped_over};

use crate::web_page::ask;
use crate::{ready, served};

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_requests_and_contain_no_text() -> Result<(), Failure> {
    let daemon = TestDaemon::start(&example(), &[("embedding.model", "none")]).await?;
    // Each node counts its own requests.
    let channel = daemon.socket_channel().await?;
    served(&channel).await?;
    ready(&channel).await?;
    let mut search = SearchServiceClient::new(channel);
    let query = SearchRequest { query: "leap second".into(), ..SearchRequest::default() };
    for id in ["4bf92f3577b34da6", ""] {
        let mut request = Request::new(query.clone());
        request.metadata_mut().insert("x-request-id", id.parse()?);
        let answer = search.search(request).await?;
        let given = answer.metadata().get("x-request-id").ok_or("no id")?.to_str()?;
        assert!(given == id || id.is_empty() && given.len() == 16, "{given}");
    }
    search.search(SearchRequest::default()).await.expect_err("an empty query is refused");

    let host = format!("host: {}", daemon.host());
    let page = ask(&daemon, "GET /metrics HTTP/1.1", &[&host], b"").await?;
    assert!(page.contains("content-type: text/plain; version=0.0.4"), "{page}");
    for line in [
        "weft_requests_total{call=\"noteweft.v1.SearchService/Search\",code=\"OK\"} 2",
        "weft_requests_total{call=\"noteweft.v1.SearchService/Search\",code=\"INVALID_ARGUMENT\"} 1",
        "weft_request_duration_seconds_count{call=\"noteweft.v1.SearchService/Search\"} 3",
        "weft_phase{phase=\"ready\"} 1",
        "weft_vault_notes{vault=\"timekeeping\"} 78",
        "weft_up 1",
    ] {
        assert!(page.contains(line), "{line} is missing:\n{page}");
    }
    assert!(!page.contains("leap"), "{page}");
    // A page of another site cannot read it through DNS rebinding.
    let bent = ask(&daemon, "GET /metrics HTTP/1.1", &["host: evil.example"], b"").await?;
    assert!(bent.starts_with("HTTP/1.1 403"), "{bent}");
    daemon.stop().await?;
    Ok(())
}

/// Responds with a vector for each text, without a direction for texts about moss.
fn embeddings(request: &RecordedRequest) -> StubResponse {
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let texts = body["input"].as_array().expect("texts").iter();
    let vectors = texts.map(|text| {
        let is_moss = text.as_str().is_some_and(|text| text.contains("moss"));
        json!({ "embedding": if is_moss { [0.0, 0.0] } else { [1.0, 2.0] } })
    });
    StubResponse::new(200, json!({ "data": vectors.collect::<Vec<_>>() }).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_texts_are_reported_by_status_health_and_metrics() -> Result<(), Failure> {
    if is_skipped_over(0, "a file of the folder changes") {
        return Ok(());
    }
    let endpoint = HttpStub::start(embeddings);
    let vault = tempfile::tempdir()?;
    std::fs::write(vault.path().join("stone.md"), "soft moss\n")?;
    let settings = [
        ("embedding.model", "fake"),
        ("embedding.runner", "openai"),
        ("embedding.remote.url", &*endpoint.url()),
    ];
    let daemon = TestDaemon::start(vault.path(), &settings).await?;
    let channel = daemon.socket_channel().await?;
    served(&channel).await?;
    let mut admin = AdminServiceClient::new(channel.clone());
    while admin.status(StatusRequest {}).await?.into_inner().failed_vector_count == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let states = health_states(&channel, ["vectors", ""]).await?;
    assert_eq!(states, [ServingStatus::NotServing, ServingStatus::Serving]);
    let host = format!("host: {}", daemon.host());
    let page = ask(&daemon, "GET /metrics HTTP/1.1", &[&host], b"").await?;
    assert!(page.contains("weft_vectors_failed 1\n"), "{page}");

    let watch = HealthCheckRequest { service: "vectors".to_owned() };
    let mut watched = HealthClient::new(channel).watch(watch).await?.into_inner();
    let state = watched.message().await?.map(|state| state.status());
    assert_eq!(state, Some(ServingStatus::NotServing));
    std::fs::write(vault.path().join("stone.md"), "soft fern\n")?;
    let state = watched.message().await?.map(|state| state.status());
    assert_eq!(state, Some(ServingStatus::Serving));
    daemon.stop().await?;
    Ok(())
}
