//! The queue of texts that wait for a vector; any node embeds them.

use weft_index::embedder::ModelIdentity;
use weft_model::TextHash;

use crate::collection::{bytes_of, stored_hash};
use crate::shared_vectors::model_key;
use crate::{ClusterError, Collection};

/// A text to embed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingJob {
    /// Hash of the text.
    pub hash: TextHash,
    /// The text.
    pub text: String,
}

impl Collection {
    /// Returns the texts among `texts` that have neither a vector nor a job.
    pub fn texts_without_job(
        &self,
        model: &ModelIdentity,
        texts: &[TextHash],
    ) -> Result<Vec<TextHash>, ClusterError> {
        let model = model_key(model);
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| bytes_of(*text)).collect();
        self.database.run("read the embedding queue", async {
            let client = self.database.client().await?;
            let select = "select text from unnest($3::bytea[]) as text
                 where not exists (select from noteweft.vector
                     where collection = $1 and model = $2 and vector.text = text.text)
                   and not exists (select from noteweft.job
                     where collection = $1 and model = $2 and job.text = text.text)";
            let select = client.prepare_cached(select).await?;
            let rows = client.query(&select, &[&self.id, &model, &texts]).await?;
            rows.iter().map(|row| stored_hash(row.get(0))).collect()
        })
    }

    /// Queues texts that have neither a vector nor a job.
    pub fn add_jobs(
        &self,
        model: &ModelIdentity,
        jobs: &[EmbeddingJob],
    ) -> Result<(), ClusterError> {
        let model = model_key(model);
        let texts: Vec<Vec<u8>> = jobs.iter().map(|job| bytes_of(job.hash)).collect();
        // Text columns of PostgreSQL cannot hold NUL.
        let bodies: Vec<String> =
            jobs.iter().map(|job| job.text.replace('\0', "\u{fffd}")).collect();
        self.database.run("queue texts for embedding", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            // A vector that is stored meanwhile removes its job, which would be added again.
            self.lock_head(&transaction).await?;
            let insert = "insert into noteweft.job (collection, model, text, body)
                 select $1::int, $2::bytea, new.text, new.body
                 from unnest($3::bytea[], $4::text[]) as new (text, body)
                 where not exists (select from noteweft.vector
                     where collection = $1 and model = $2 and vector.text = new.text)
                 on conflict do nothing";
            let insert = transaction.prepare_cached(insert).await?;
            transaction.execute(&insert, &[&self.id, &model, &texts, &bodies]).await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// Returns the number of texts that wait for a vector. `O(jobs)`.
    pub fn n_jobs(&self) -> Result<u64, ClusterError> {
        self.database.run("count the embedding queue", async {
            let client = self.database.client().await?;
            let select = "select count(*) from noteweft.job where collection = $1";
            let row = client.query_one(select, &[&self.id]).await?;
            Ok(row.get::<_, i64>(0).cast_unsigned())
        })
    }

    /// Takes at most `n` free jobs for `seconds`; another node gets them if they are not done by then.
    pub fn take_jobs(
        &self,
        model: &ModelIdentity,
        holder: &str,
        n: u32,
        seconds: u32,
    ) -> Result<Vec<EmbeddingJob>, ClusterError> {
        let model = model_key(model);
        self.database.run("take texts to embed", async {
            let client = self.database.client().await?;
            let update = "update noteweft.job
                 set holder = $3, until = now() + make_interval(secs => $5)
                 where collection = $1 and model = $2 and text in (
                   select text from noteweft.job
                   where collection = $1 and model = $2 and until <= now()
                   limit $4 for update skip locked)
                 returning text, body";
            let update = client.prepare_cached(update).await?;
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&self.id, &model, &holder, &i64::from(n), &f64::from(seconds)];
            let rows = client.query(&update, &columns).await?;
            let job = |row: &tokio_postgres::Row| {
                Ok(EmbeddingJob { hash: stored_hash(row.get(0))?, text: row.get(1) })
            };
            rows.iter().map(job).collect()
        })
    }

    /// Returns jobs that were taken to the queue.
    pub fn release_jobs(&self, model: &ModelIdentity, holder: &str) -> Result<(), ClusterError> {
        let model = model_key(model);
        self.database.run("return texts to the embedding queue", async {
            let client = self.database.client().await?;
            let update = "update noteweft.job set holder = null, until = '-infinity'
                 where collection = $1 and model = $2 and holder = $3";
            client.execute(update, &[&self.id, &model, &holder]).await?;
            Ok(())
        })
    }
}
