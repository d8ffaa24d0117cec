//! Reranking over a real channel: with a cross-encoder in the process, and at an endpoint.

use std::time::Duration;

use serde_json::{Value, json};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    AssembleRequest, SearchRequest, SearchResponse, StatusRequest, WhyNotRequest,
};
use weft_testkit::http_stub::{HttpStub, RecordedRequest, StubResponse};
use weft_testkit::write_cross_encoder;
use weft_tests::{Failure, TestChannel, TestDaemon, example, is_skipped_over, served};

/// A question about the example vault.
const QUERY: &str = "how does a pendulum keep time";

async fn serving(settings: &[(&str, &str)]) -> Result<(TestDaemon, TestChannel), Failure> {
    let settings = [&[("embedding.model", "none")], settings].concat();
    let daemon = TestDaemon::start(&example(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    Ok((daemon, channel))
}

async fn search(channel: &TestChannel, rerank: Option<bool>) -> Result<SearchResponse, Failure> {
    let request = SearchRequest {
        query: QUERY.to_owned(),
        rerank,
        explain: true,
        ..SearchRequest::default()
    };
    Ok(SearchServiceClient::new(channel.clone()).search(request).await?.into_inner())
}

fn uris(answer: &SearchResponse) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.uri.as_str()).collect()
}

fn codes(answer: &SearchResponse) -> Vec<&str> {
    answer.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_encoder_reranks_the_hits_of_searches_and_contexts() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    write_cross_encoder(folder.path(), &["pendulum", "clock", "time", "keep"])?;
    let model = folder.path().to_string_lossy().into_owned();
    let settings = [
        ("rerank.model", model.as_str()),
        ("rerank.runner", "rten"),
        ("rerank.timeout_ms", "60000"),
        ("rerank.weight", "0.9"),
    ];
    let (daemon, channel) = serving(&settings).await?;
    let status = AdminServiceClient::new(channel.clone()).status(StatusRequest {}).await?;
    let reranker = status.into_inner().reranker.ok_or("no reranker")?;
    assert_eq!(reranker.runner, "rten");

    let plain = search(&channel, Some(false)).await?;
    let reranked = search(&channel, None).await?;
    assert!(plain.warnings.is_empty() && reranked.warnings.is_empty(), "{reranked:?}");
    assert_ne!(uris(&plain), uris(&reranked));
    assert!(plain.explanation.as_ref().is_some_and(|it| it.reranking.is_none()));
    let explanation = reranked.explanation.as_ref().ok_or("no explanation")?;
    let reranking = explanation.reranking.as_ref().ok_or("not reranked")?;
    assert_eq!(reranking.reranker.as_ref(), Some(&reranker));
    assert_eq!((reranking.weight.to_bits(), reranking.note_count), (0.9_f64.to_bits(), 20));
    for hit in &reranked.hits {
        let parts = &hit.explanation.as_ref().ok_or("no parts")?.parts;
        let names: Vec<&str> = parts.iter().map(|part| part.signal.as_str()).collect();
        assert_eq!(names, ["similarity", "centrality", "activation", "relevance"]);
        let sum: f64 = parts.iter().map(|part| part.contribution).sum();
        assert_eq!(sum.to_bits(), hit.score.to_bits(), "{hit:?}");
        for part in parts {
            let product = part.normalized * part.weight;
            assert_eq!(product.to_bits(), part.contribution.to_bits(), "{hit:?}");
        }
        let relevance = hit.signals.ok_or("no signals")?.relevance;
        assert!(relevance > 0.0 && relevance < 1.0, "{hit:?}");
    }
    assert_eq!(search(&channel, Some(true)).await?.hits, reranked.hits, "the same again");

    let best = uris(&reranked)[0].to_owned();
    let why = WhyNotRequest {
        note: best.clone(),
        search: Some(SearchRequest { query: QUERY.to_owned(), ..SearchRequest::default() }),
    };
    let why = SearchServiceClient::new(channel.clone()).why_not(why).await?.into_inner();
    assert_eq!(why.rank, Some(1));
    let context =
        |rerank| AssembleRequest { query: QUERY.to_owned(), rerank, ..AssembleRequest::default() };
    let mut contexts = ContextServiceClient::new(channel);
    let with = contexts.assemble(context(None)).await?.into_inner();
    let without = contexts.assemble(context(Some(false))).await?.into_inner();
    let first = with.items.first().ok_or("an empty context")?;
    assert_eq!(first.uri, best);
    assert_eq!(without.items.first().ok_or("an empty context")?.uri, uris(&plain)[0]);
    daemon.stop().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoint_that_fails_or_is_slow_leaves_the_hits_as_they_were() -> Result<(), Failure> {
    if is_skipped_over(1, "each node notices by itself that an endpoint is slow") {
        return Ok(());
    }
    // The last text is the most relevant.
    let respond = |asked: &RecordedRequest| {
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let n = body["documents"].as_array().map_or(0, Vec::len);
        let result = |index: usize| {
            let score = f64::from(u32::try_from(index).unwrap_or_default()) / 100.0;
            json!({ "index": index, "relevance_score": score })
        };
        let results: Vec<Value> = (0..n).map(result).collect();
        StubResponse::new(200, json!({ "results": results }).to_string())
    };
    let endpoint = HttpStub::start(respond);
    let url = endpoint.url();
    let settings = [
        ("rerank.model", "judge"),
        ("rerank.runner", "endpoint"),
        ("rerank.endpoint.url", url.as_str()),
        ("rerank.endpoint.attempts", "1"),
        ("rerank.top_n", "5"),
        ("rerank.weight", "0.95"),
        ("rerank.timeout_ms", "300"),
    ];
    let (daemon, channel) = serving(&settings).await?;
    let plain = search(&channel, Some(false)).await?;
    assert!(endpoint.requests().is_empty());
    let reranked = search(&channel, None).await?;
    let mut turned = uris(&plain)[..5].to_vec();
    turned.reverse();
    assert_eq!(uris(&reranked)[..5], turned);
    assert_eq!(uris(&reranked)[5..], uris(&plain)[5..], "the others stay behind");
    let asked = endpoint.requests().remove(0);
    let body: Value = serde_json::from_str(&asked.body)?;
    assert_eq!((&body["query"], &body["top_n"]), (&json!(QUERY), &json!(5)));
    let texts = body["documents"].as_array().ok_or("no documents")?;
    let title = &plain.hits[0].title;
    assert!(texts[0].as_str().is_some_and(|text| text.starts_with(title.as_str())), "{texts:?}");

    endpoint.set_handler(move |asked| StubResponse {
        delay: Duration::from_secs(10),
        ..respond(asked)
    });
    for expected in ["did not respond in time", "did not respond in time"] {
        let late = search(&channel, None).await?;
        assert_eq!(late.hits, plain.hits);
        assert_eq!(codes(&late), ["rerank_skipped"]);
        assert!(late.warnings[0].message.contains(expected), "{:?}", late.warnings);
    }
    assert_eq!(endpoint.requests().len(), 2, "a slow endpoint is left alone for a while");
    daemon.stop().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_reranker_is_reported_and_searches_go_on() -> Result<(), Failure> {
    let (daemon, channel) = serving(&[("rerank.model", "/no/such/model")]).await?;
    let status = AdminServiceClient::new(channel.clone()).status(StatusRequest {}).await?;
    let status = status.into_inner();
    assert_eq!(status.reranker, None);
    let notice = |notice: &String| notice.contains("/no/such/model") && notice.contains("rerank");
    assert!(status.notices.iter().any(notice), "{:?}", status.notices);
    let answer = search(&channel, None).await?;
    assert!(!answer.hits.is_empty());
    assert_eq!(codes(&answer), ["rerank_skipped"]);
    assert!(search(&channel, Some(false)).await?.warnings.is_empty());
    daemon.stop().await.map(drop)
}
