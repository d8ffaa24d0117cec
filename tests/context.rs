//! Contexts over a real channel: the budget holds, and a stream equals the single response.

use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_types::StatusExt as _;
use weft_indexer::embed::TokenizerEstimator;
use weft_model::Estimator as _;
use weft_model::tokens::{Bytes, Characters};
use weft_proto::noteweft::v1::context_service_client::ContextServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, BudgetUnit, ContextBands, ContextLimits, ContextNote,
    ContextOrder, DisabledSignals, FocusSource, Profile, Rendering, SearchRequest, TreeRequest,
    Weights,
};
use weft_tests::{Failure, TestChannel, TestDaemon, example, served};

const NO_MODEL: &[(&str, &str)] = &[("embedding.model", "none")];

async fn serving() -> Result<(TestDaemon, ContextServiceClient<TestChannel>), Failure> {
    let daemon = TestDaemon::start(&example(), NO_MODEL).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    Ok((daemon, ContextServiceClient::new(channel)))
}

fn query_request(query: &str) -> AssembleRequest {
    AssembleRequest { query: query.to_owned(), ..AssembleRequest::default() }
}

fn note(name: &str, score: f64) -> ContextNote {
    ContextNote { name: name.to_owned(), score: Some(score), ..ContextNote::default() }
}

/// Returns the cost of `text`, computed independently of the daemon.
fn measured(estimator: &str, text: &str) -> Result<u64, Failure> {
    Ok(match estimator {
        _ if text.is_empty() => 0,
        "chars" => Characters::default().estimate(text).get(),
        "bytes" => Bytes::default().estimate(text).get(),
        "bundled-english" => TokenizerEstimator::english().estimate(text).get(),
        other => return Err(format!("{other} is not implemented in this test").into()),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_never_exceeds_its_budget() -> Result<(), Failure> {
    let (daemon, mut contexts) = serving().await?;
    for estimator in ["chars", "bytes", "bundled-english"] {
        for rendering in [Rendering::Markdown, Rendering::Xml, Rendering::Json] {
            for budget in [0_u32, 1, 29, 30, 137, 1000, 20_000] {
                let request = AssembleRequest {
                    budget: Some(budget.into()),
                    estimator: Some(estimator.to_owned()),
                    rendering: rendering.into(),
                    ..query_request("Why does my watch disagree with the sundial? 水运仪象台")
                };
                let answer = contexts.assemble(request).await?.into_inner();
                let rendered = answer.rendered.as_deref().ok_or("no rendering")?;
                let tokens = measured(estimator, rendered)?;
                let case = format!("{estimator} {rendering:?} {budget}");
                // A document without notes is not charged.
                let is_paid = tokens <= answer.used || answer.items.is_empty();
                assert!(is_paid && answer.used <= answer.budget, "{case}: {tokens}");
                assert_eq!(
                    (answer.used + answer.remaining, answer.budget),
                    (budget.into(), budget.into())
                );
                assert_eq!(answer.unit(), BudgetUnit::Tokens, "{case}");
                assert!(!answer.items.is_empty() || budget < 1000, "{case}");
                let carries = answer.items.iter().map(|item| (item.carry_in, item.carry_out));
                carries.fold(0, |carry, (before, after)| {
                    assert_eq!(carry, before, "{case}");
                    after
                });
            }
        }
    }
    let request = AssembleRequest { budget_chars: Some(5000), ..query_request("leap second") };
    let answer = contexts.assemble(request).await?.into_inner();
    let n_chars = answer.rendered.as_deref().map(|text| text.chars().count() as u64);
    assert_eq!((n_chars, answer.unit()), (Some(answer.used), BudgetUnit::Characters));
    assert!(answer.used <= 5000 && !answer.items.is_empty());
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_context_equals_the_single_response() -> Result<(), Failure> {
    let (daemon, mut contexts) = serving().await?;
    let request = AssembleRequest {
        notes: vec![note("Sundial", 1.0), note("Leap second", 0.8), note("no such note", 0.5)],
        order: ContextOrder::BothEnds.into(),
        ..query_request("noon")
    };
    let whole = contexts.assemble(request.clone()).await?.into_inner();
    assert_eq!((whole.items.len(), whole.omitted.len()), (2, 1));
    assert!(whole.items[0].properties.as_ref().is_some_and(|all| !all.fields.is_empty()));
    let pieces = contexts.assemble_stream(request.clone()).await?.into_inner();
    let pieces: Vec<AssembleResponse> = pieces.collect::<Result<_, _>>().await?;
    assert_eq!(pieces.len(), 4);
    assert!(pieces.iter().all(|piece| piece.generation == whole.generation));
    let (last, pieces) = pieces.split_last().ok_or("no piece")?;
    let mut joined = last.clone();
    for piece in pieces {
        assert_eq!(piece.items.len() + piece.omitted.len(), 1);
        joined.items.extend(piece.items.clone());
        joined.omitted.extend(piece.omitted.clone());
    }
    assert_eq!(joined, whole);

    // The same store gives the same bytes after a restart.
    let daemon = daemon.restart(&example(), NO_MODEL).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let again = ContextServiceClient::new(channel).assemble(request).await?.into_inner();
    assert_eq!(again, whole);
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn context_ranks_like_the_search_with_the_same_options() -> Result<(), Failure> {
    let (daemon, mut contexts) = serving().await?;
    let mut searches = SearchServiceClient::new(daemon.channel().await?);
    let query = "Why does a pendulum disagree with a sundeal?";
    let weights = Weights { similarity: 1.0, centrality: 1.0, activation: 1.0 };
    let without = DisabledSignals { names: true, ..DisabledSignals::default() };
    let usual = query_request(query);
    let mut seen: Vec<Vec<(String, f64)>> = Vec::new();
    for request in [
        usual.clone(),
        AssembleRequest { profile: Profile::Classic.into(), ..usual.clone() },
        AssembleRequest { weights: Some(weights), ..usual.clone() },
        AssembleRequest { no_graph: true, ..usual.clone() },
        AssembleRequest { disabled_signals: Some(without), ..usual.clone() },
        AssembleRequest { typo_tolerance: Some(true), ..usual.clone() },
    ] {
        let AssembleRequest {
            profile,
            weights,
            no_graph,
            disabled_signals: without,
            typo_tolerance,
            ..
        } = request;
        let search = SearchRequest {
            query: query.to_owned(),
            limit: Some(50),
            profile,
            weights,
            no_graph,
            disabled_signals: without,
            typo_tolerance,
            ..SearchRequest::default()
        };
        let answer = contexts.assemble(request).await?.into_inner();
        let taken = answer.items.into_iter().map(|item| (item.uri, item.score));
        let others = answer.omitted.into_iter().map(|left| (left.uri, left.score));
        let mut ranked: Vec<(String, f64)> = taken.chain(others).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let hits = searches.search(search).await?.into_inner().hits;
        let hits: Vec<(String, f64)> = hits.into_iter().map(|hit| (hit.uri, hit.score)).collect();
        assert_eq!(ranked, hits, "{profile} {weights:?} {no_graph} {without:?} {typo_tolerance:?}");
        assert!(!seen.contains(&hits), "each option changes the result");
        seen.push(hits);
    }
    daemon.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_refused_with_details() -> Result<(), Failure> {
    let (daemon, mut contexts) = serving().await?;
    let limited = |limits| AssembleRequest { limits: Some(limits), ..query_request("x") };
    let walked = |walk| AssembleRequest { walk: Some(walk), ..query_request("x") };
    let sundial = || TreeRequest { roots: vec!["Sundial".to_owned()], ..TreeRequest::default() };
    let none = ContextLimits::default();
    let bands = ContextBands { full: Some(-1.0), ..ContextBands::default() };
    for (request, field) in [
        (query_request(""), "query"),
        (
            AssembleRequest { budget: Some(1), budget_chars: Some(1), ..query_request("x") },
            "budget_chars",
        ),
        (AssembleRequest { budget: Some(-1), ..query_request("x") }, "budget"),
        (AssembleRequest { estimator: Some("gpt".to_owned()), ..query_request("x") }, "estimator"),
        (
            AssembleRequest { notes: vec![note("Sundial", f64::NAN)], ..query_request("x") },
            "notes.score",
        ),
        (AssembleRequest { rendering: 9, ..query_request("x") }, "rendering"),
        (AssembleRequest { order: 9, ..query_request("x") }, "order"),
        (AssembleRequest { mode: 9, ..query_request("x") }, "mode"),
        (AssembleRequest { profile: 9, ..query_request("x") }, "profile"),
        (AssembleRequest { weights: Some(Weights::default()), ..query_request("x") }, "weights"),
        (AssembleRequest { limit: Some(0), ..query_request("x") }, "limit"),
        (walked(TreeRequest::default()), "walk.roots"),
        (walked(TreeRequest { roots: vec![String::new()], ..sundial() }), "walk.roots"),
        (
            AssembleRequest { focus: Some(FocusSource::default()), ..query_request("x") },
            "focus.note",
        ),
        (
            AssembleRequest {
                notes: vec![note("Sundial", 1.0), note(" ", 1.0)],
                ..query_request("x")
            },
            "notes.name",
        ),
        (walked(TreeRequest { max_nodes: Some(0), ..sundial() }), "walk.max_nodes"),
        (walked(TreeRequest { direction: 9, ..sundial() }), "walk.direction"),
        (walked(TreeRequest { as_of: Some(1), ..sundial() }), "walk.as_of"),
        (limited(ContextLimits { outline_depth: Some(256), ..none }), "limits.outline_depth"),
        (limited(ContextLimits { per_note_share: Some(2.0), ..none }), "limits.per_note_share"),
        (limited(ContextLimits { bands: Some(bands), ..none }), "limits.bands.full"),
    ] {
        let alone = contexts.assemble(request.clone()).await.err().ok_or(field)?;
        let streamed = match contexts.assemble_stream(request).await {
            Ok(stream) => stream.into_inner().message().await.err().ok_or(field)?,
            Err(status) => status,
        };
        for status in [alone, streamed] {
            assert_eq!(status.code(), Code::InvalidArgument, "{field}: {status}");
            let bad = status.get_details_bad_request().ok_or("no details")?;
            assert_eq!(bad.field_violations[0].field, field);
        }
    }
    daemon.stop().await?;
    Ok(())
}
