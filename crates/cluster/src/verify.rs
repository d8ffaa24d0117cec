//! Verification: whether the database holds what the log says, and whether the nodes agree.

use weft_indexer::hash_of;

use crate::collection::stored_hash;
use crate::shared_vectors::decoded;
use crate::{ClusterError, Collection};

/// Number of rows read at a time.
const PAGE: i64 = 500;

impl Collection {
    /// Reads every text, every vector and the vector graph, and returns one line for each problem. `O(bytes)`.
    pub fn verify(&self) -> Result<Vec<String>, ClusterError> {
        let mut problems = self.problems_of_log()?;
        problems.extend(self.problems_of_texts()?);
        problems.extend(self.problems_of_vectors()?);
        problems.extend(self.problems_of_graphs()?);
        problems.extend(self.problems_of_nodes()?);
        Ok(problems)
    }

    fn problems_of_log(&self) -> Result<Vec<String>, ClusterError> {
        self.database.run("verify the log", async {
            let client = self.database.client().await?;
            let mut problems = Vec::new();
            let select = "select head,
                   (select count(*) from noteweft.commit where collection = $1),
                   (select coalesce(max(generation), 0) from noteweft.commit where collection = $1),
                   (select coalesce(max(generation), 0) from noteweft.version where collection = $1),
                   floor
                 from noteweft.collection where id = $1";
            let row = client.query_opt(select, &[&self.id]).await?;
            let row = row.ok_or_else(|| self.erased())?;
            let [head, n_commits, last, newest, floor]: [i64; 5] =
                [row.get(0), row.get(1), row.get(2), row.get(3), row.get(4)];
            let first = floor.max(1);
            if n_commits != head - first + 1 || last != head {
                problems.push(format!(
                    "the log should have the commits {first} to {head}, but it has {n_commits} commits up to {last}"
                ));
            }
            if newest > head {
                problems.push(format!("a file belongs to commit {newest}, after the head {head}"));
            }
            let select = "select vault, path, generation from noteweft.version
                 where collection = $1 and hash is not null and not exists (
                   select from noteweft.blob
                   where blob.collection = $1 and blob.hash = version.hash)
                 order by vault, path limit 100";
            for row in client.query(select, &[&self.id]).await? {
                let (vault, path): (String, String) = (row.get(0), row.get(1));
                let generation: i64 = row.get(2);
                problems.push(format!(
                    "the text of `{path}` in `{vault}` at commit {generation} is missing"
                ));
            }
            Ok(problems)
        })
    }

    fn problems_of_texts(&self) -> Result<Vec<String>, ClusterError> {
        let (mut problems, mut after) = (Vec::new(), Vec::new());
        loop {
            let rows = self.database.run("verify the texts", async {
                let client = self.database.client().await?;
                let select = "select hash, body from noteweft.blob
                     where collection = $1 and hash > $2 order by hash limit $3";
                let select = client.prepare_cached(select).await?;
                let rows = client.query(&select, &[&self.id, &after, &PAGE]).await?;
                let checked = |row: &tokio_postgres::Row| {
                    let (hash, body): (Vec<u8>, Vec<u8>) = (row.get(0), row.get(1));
                    let expected = stored_hash(&hash).ok();
                    (hash, expected == Some(hash_of(&body)))
                };
                Ok(rows.iter().map(checked).collect::<Vec<_>>())
            })?;
            let Some((last, _)) = rows.last() else { return Ok(problems) };
            after.clone_from(last);
            for (hash, _) in rows.iter().filter(|(_, is_intact)| !is_intact) {
                problems.push(format!("the text with the hash {} is damaged", hex(hash)));
            }
        }
    }

    fn problems_of_vectors(&self) -> Result<Vec<String>, ClusterError> {
        let mut problems = Vec::new();
        let mut after: (Vec<u8>, Vec<u8>) = Default::default();
        loop {
            let rows = self.database.run("verify the vectors", async {
                let client = self.database.client().await?;
                let select = "select model, text, vector, crc from noteweft.vector
                     where collection = $1 and (model, text) > ($2, $3)
                     order by model, text limit $4";
                let select = client.prepare_cached(select).await?;
                let rows = client.query(&select, &[&self.id, &after.0, &after.1, &PAGE]).await?;
                let checked = |row: &tokio_postgres::Row| {
                    let is_intact = decoded(row.get(2), row.get(3)).is_ok();
                    ((row.get(0), row.get(1)), is_intact)
                };
                Ok(rows.iter().map(checked).collect::<Vec<((Vec<u8>, Vec<u8>), bool)>>())
            })?;
            let Some((last, _)) = rows.last() else { return Ok(problems) };
            after.clone_from(last);
            for ((_, text), _) in rows.iter().filter(|(_, is_intact)| !is_intact) {
                problems.push(format!("the vector of the text {} is damaged", hex(text)));
            }
        }
    }

    fn problems_of_nodes(&self) -> Result<Vec<String>, ClusterError> {
        let nodes = self.nodes()?;
        let mut problems = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            for other in &nodes[at + 1..] {
                let (one, two) = (&node.report, &other.report);
                if one.generation == two.generation && one.digest != two.digest {
                    problems.push(format!(
                        "the nodes `{}` and `{}` have different notes at commit {}; delete the index of one that `weft pull` disagrees with, and restart it",
                        one.id, two.id, one.generation
                    ));
                }
            }
        }
        Ok(problems)
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
