//! Shared vectors and the queue of texts to embed.

use std::collections::BTreeSet;

use weft_cluster::{Collection, EmbeddingJob};
use weft_model::TextHash;

use crate::{collection, connect, model};

fn job(n: u128) -> EmbeddingJob {
    EmbeddingJob { hash: TextHash(n), text: format!("text {n}") }
}

#[test]
fn each_text_is_taken_by_one_node() {
    let Some((server, notes)) = collection() else { return };
    let model = model("a");
    let jobs: Vec<EmbeddingJob> = (1..=100).map(job).collect();
    notes.add_jobs(&model, &jobs).unwrap();
    notes.add_jobs(&model, &jobs[..50]).unwrap();
    let start = notes.head().unwrap();
    let taken: Vec<Vec<EmbeddingJob>> = std::thread::scope(|scope| {
        let nodes: Vec<_> = (0..3)
            .map(|node| {
                let notes = Collection::open(&connect(&server), "team").unwrap();
                let (model, holder) = (&model, format!("node{node}"));
                scope.spawn(move || {
                    let mut all = Vec::new();
                    loop {
                        let taken = notes.take_jobs(model, &holder, 7, 600).unwrap();
                        if taken.is_empty() {
                            return all;
                        }
                        let vector = |job: &EmbeddingJob| (job.hash, vec![0.6, job.hash.0 as f32]);
                        let vectors: Vec<_> = taken.iter().map(vector).collect();
                        notes.store_vectors(model, &vectors).unwrap();
                        all.extend(taken);
                    }
                })
            })
            .collect();
        nodes.into_iter().map(|node| node.join().unwrap()).collect()
    });
    let n_taken: usize = taken.iter().map(Vec::len).sum();
    let distinct: BTreeSet<u128> = taken.iter().flatten().map(|job| job.hash.0).collect();
    assert_eq!((n_taken, distinct.len()), (100, 100), "each once");
    let head = notes.head().unwrap();
    let texts: Vec<TextHash> = (1..=100).map(TextHash).collect();
    assert_eq!(notes.new_vectors(&model, start, head).unwrap().len(), 100);
    let vectors = notes.vectors(&model, &texts, head).unwrap();
    assert_eq!(vectors.len(), 100);
    assert!(vectors.contains(&(TextHash(9), vec![0.6, 9.0])), "{vectors:?}");
    assert_eq!(notes.vectors(&model, &texts, start).unwrap(), [], "not stored by then");
    assert_eq!(notes.vectors(&crate::model("b"), &texts, head).unwrap(), [], "another model");
    assert_eq!(notes.store_vectors(&model, &[(TextHash(9), vec![0.0, 0.0])]).unwrap(), head);
    assert_eq!(notes.vectors(&model, &texts[8..9], head).unwrap(), [(TextHash(9), vec![0.6, 9.0])]);
    assert_eq!(notes.verify().unwrap(), [""; 0]);
}

#[test]
fn jobs_of_a_lost_node_return_to_the_queue_and_rejected_texts_do_not() {
    let Some((_server, notes)) = collection() else { return };
    let model = model("a");
    let texts: Vec<TextHash> = (1..=4).map(TextHash).collect();
    notes.store_vectors(&model, &[(TextHash(4), vec![1.0, 0.0])]).unwrap();
    notes.add_jobs(&model, &[job(1), job(2), job(4)]).unwrap();
    assert_eq!(notes.texts_without_job(&model, &texts).unwrap(), [TextHash(3)]);
    let take = |holder: &str, seconds| notes.take_jobs(&model, holder, 10, seconds).unwrap();
    assert_eq!(take("lost", 0).len(), 2, "its time is over at once");
    assert_eq!(take("other", 600).len(), 2);
    assert_eq!(take("third", 600), []);
    notes.release_jobs(&model, "other").unwrap();
    assert_eq!(take("third", 600).len(), 2);
    let head = notes.store_vectors(&model, &[(TextHash(1), Vec::new())]).unwrap();
    notes.release_jobs(&model, "third").unwrap();
    assert_eq!(take("fourth", 600), [job(2)]);
    assert_eq!(notes.vectors(&model, &texts[..1], head).unwrap(), [(TextHash(1), Vec::new())]);
    let status = notes.status().unwrap();
    assert_eq!((status.n_vectors, status.n_jobs, status.n_rejected), (1, 1, 1));
}
