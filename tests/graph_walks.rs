//! Walks over links through the API.

use tonic::Code;
use tonic_types::StatusExt as _;
use weft_proto::noteweft::v1::graph_service_client::GraphServiceClient;
use weft_proto::noteweft::v1::{
    CyclesRequest, EdgeFilter, Filter, Limit, NeighborsRequest, OrphansRequest, PathRequest,
    SubgraphRequest, TreeRequest, UnresolvedRequest, Within,
};
use weft_tests::{Failure, example, served};

use super::{NO_MODEL, serving};

#[tokio::test(flavor = "multi_thread")]
async fn links_are_walked() -> Result<(), Failure> {
    let (daemon, channel) = serving(NO_MODEL).await?;
    let mut graph = GraphServiceClient::new(channel.clone());
    let sent_request = |max_hops, max_nodes| TreeRequest {
        roots: vec!["Leap second".into()],
        max_hops,
        max_nodes,
        ..TreeRequest::default()
    };
    let tree = graph.tree(sent_request(None, None)).await?.into_inner();
    assert_eq!((tree.max_hops, tree.root.as_str()), (Some(3), "Agreed Time/Leap second"));
    assert_eq!(tree.spanning_tree.len() + 1, tree.nodes.len());
    assert_eq!(tree.truncated_by().collect::<Vec<_>>(), [Limit::MaxHops]);
    let root = graph.tree(sent_request(Some(0), None)).await?.into_inner();
    assert_eq!((root.nodes.len(), root.max_hops), (1, Some(0)), "zero is not the default");
    let refused = graph.tree(sent_request(None, Some(0))).await.expect_err("a root is a node");
    let fields = refused.get_details_bad_request().ok_or("no details")?.field_violations;
    assert_eq!((refused.code(), fields[0].field.as_str()), (Code::InvalidArgument, "max_nodes"));
    let unknown = TreeRequest { roots: vec!["Leap secnd".into()], ..TreeRequest::default() };
    let unknown = graph.tree(unknown).await.expect_err("the note is unknown");
    assert_eq!(unknown.code(), Code::NotFound);
    assert!(
        unknown.get_details_error_info().is_some_and(|info| info.metadata.contains_key("near_1"))
    );
    let aimless = TreeRequest { direction: 99, ..sent_request(None, None) };
    let aimless = graph.tree(aimless).await.expect_err("the direction is unknown");
    assert_eq!(aimless.code(), Code::InvalidArgument);

    let nameless = |filter| TreeRequest { filter: Some(filter), ..sent_request(None, None) };
    let (none, no_place) = (vec![String::new()], Within { note: " ".into(), hops: 1 });
    for (request, field) in [
        (
            TreeRequest {
                roots: vec!["Sundial".into(), String::new()],
                ..sent_request(None, None)
            },
            "roots",
        ),
        (nameless(Filter { linked_to: none.clone(), ..Filter::default() }), "filter.linked_to"),
        (nameless(Filter { linked_from: none.clone(), ..Filter::default() }), "filter.linked_from"),
        (nameless(Filter { within: vec![no_place], ..Filter::default() }), "filter.within.note"),
        (nameless(Filter { excluded: none.clone(), ..Filter::default() }), "filter.excluded"),
    ] {
        let refused = graph.tree(request).await.err().ok_or(field)?;
        let fields = refused.get_details_bad_request().ok_or("no details")?.field_violations;
        assert_eq!((refused.code(), &*fields[0].field), (Code::InvalidArgument, field));
    }
    let refused = graph.subgraph(SubgraphRequest { notes: none, ..SubgraphRequest::default() });
    assert!(refused.await.is_err_and(|status| status.message().starts_with("`notes`: ")));
    let types = EdgeFilter { types: vec![" ".into()], ..EdgeFilter::default() };
    let refused = graph.tree(TreeRequest { edges: Some(types), ..sent_request(None, None) }).await;
    assert!(refused.is_err_and(|status| status.message().starts_with("`edges.types`: ")));

    let to = tree.nodes.last().ok_or("no node")?;
    let asked_path =
        PathRequest { from: tree.root.clone(), to: to.id.clone(), ..PathRequest::default() };
    let path = graph.path(asked_path.clone()).await?.into_inner();
    assert_eq!(
        (path.found, Some(path.length)),
        (true, to.hop),
        "a tree consists of shortest paths"
    );

    let note = tree.root.clone();
    let around = graph.neighbors(NeighborsRequest { note, ..NeighborsRequest::default() }).await?;
    let near = tree.nodes.iter().filter(|node| node.hop == Some(1)).count();
    assert_eq!(around.into_inner().nodes.len(), near);
    let notes = tree.nodes.iter().map(|node| node.id.clone()).collect();
    let among = graph.subgraph(SubgraphRequest { notes, ..SubgraphRequest::default() }).await?;
    assert!(among.into_inner().edges.len() >= tree.edges.len());
    let circles = graph.cycles(CyclesRequest::default()).await?.into_inner();
    assert!(circles.cycles.iter().all(|circle| circle.nodes.len() == circle.edges.len()));
    let alone = graph.orphans(OrphansRequest::default()).await?.into_inner();
    assert_eq!(alone.total, alone.notes.len() as u64);
    let missing = graph.unresolved(UnresolvedRequest::default()).await?.into_inner();
    assert_eq!(
        (missing.total, missing.unresolved[0].target.as_str()),
        (1, "Foucault's experiment")
    );

    // The same store gives the same bytes after a restart.
    let daemon = daemon.restart(&example(), NO_MODEL).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let mut graph = GraphServiceClient::new(channel);
    assert_eq!(graph.tree(sent_request(None, None)).await?.into_inner(), tree);
    assert_eq!(graph.path(asked_path).await?.into_inner(), path);
    daemon.stop().await?;
    Ok(())
}
