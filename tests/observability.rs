//! Observability: metrics and request ids.

use tonic::Request;
use weft_proto::noteweft::v1::SearchRequest;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_tests::{Failure, TestDaemon, example};

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
