//! Vectors by model and text, shared by all nodes of a collection.

use std::collections::HashSet;

use weft_index::embedder::ModelIdentity;
use weft_model::TextHash;

use crate::collection::{bytes_of, raise_head, stored_hash};
use crate::error::TaskError;
use crate::{ClusterError, Collection};

/// A text and its vector; an empty vector means that the model rejects the text.
pub(crate) type TextVector = (TextHash, Vec<f32>);

/// Returns the key of a model.
pub(crate) fn model_key(model: &ModelIdentity) -> Vec<u8> {
    let ModelIdentity { model, dimension, runner, pooling } = model;
    let key = blake3::hash(format!("{model}\0{dimension}\0{runner}\0{pooling}").as_bytes());
    key.as_bytes()[..16].to_vec()
}

/// Returns a vector as it is stored.
pub(crate) fn encoded(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Returns the vector in stored bytes; fails if their checksum differs.
pub(crate) fn decoded(bytes: &[u8], crc: i32) -> Result<Vec<f32>, TaskError> {
    if crc32fast::hash(bytes) != crc.cast_unsigned() {
        return Err(TaskError::Damaged("the checksum of a vector differs".to_owned()));
    }
    let floats = bytes.as_chunks::<4>().0;
    Ok(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

impl Collection {
    /// Stores vectors as one commit, and removes the jobs of their texts; returns the newest number of the log.
    ///
    /// Texts that have a vector keep it.
    pub fn store_vectors(
        &self,
        model: &ModelIdentity,
        vectors: &[TextVector],
    ) -> Result<u64, ClusterError> {
        self.insert_vectors(&model_key(model), vectors)
    }

    /// Stores vectors of the model with the key `model`, as [`store_vectors`](Self::store_vectors) does.
    pub(crate) fn insert_vectors(
        &self,
        model: &[u8],
        vectors: &[TextVector],
    ) -> Result<u64, ClusterError> {
        let texts: Vec<Vec<u8>> = vectors.iter().map(|(text, _)| bytes_of(*text)).collect();
        let bodies: Vec<Vec<u8>> = vectors.iter().map(|(_, vector)| encoded(vector)).collect();
        let crcs: Vec<i32> =
            bodies.iter().map(|bytes| crc32fast::hash(bytes).cast_signed()).collect();
        self.database.run("store vectors", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            let head = self.lock_head(&transaction).await?;
            let insert =
                "insert into noteweft.vector (collection, model, text, generation, vector, crc)
                 select distinct on (text) $1::int, $2::bytea, text, $3::bigint, vector, crc
                 from unnest($4::bytea[], $5::bytea[], $6::int[]) as new (text, vector, crc)
                 on conflict do nothing";
            let insert = transaction.prepare_cached(insert).await?;
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                [&self.id, &model, &(head + 1), &texts, &bodies, &crcs];
            let n_new = transaction.execute(&insert, &columns).await?;
            let delete = "delete from noteweft.job
                 where collection = $1 and model = $2 and text = any ($3)";
            let delete = transaction.prepare_cached(delete).await?;
            transaction.execute(&delete, &[&self.id, &model, &texts]).await?;
            let head = if n_new > 0 {
                raise_head(&transaction, self.id, head + 1, None, None).await?;
                head + 1
            } else {
                head
            };
            transaction.commit().await?;
            Ok(head.cast_unsigned())
        })
    }

    /// Returns the vectors of texts that commits up to `upto` stored, without order.
    pub fn vectors(
        &self,
        model: &ModelIdentity,
        texts: &[TextHash],
        upto: u64,
    ) -> Result<Vec<TextVector>, ClusterError> {
        let model = model_key(model);
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| bytes_of(*text)).collect();
        self.database.run("read vectors", async {
            let client = self.database.client().await?;
            let select = "select text, vector, crc from noteweft.vector
                 where collection = $1 and model = $2 and text = any ($3) and generation <= $4";
            let select = client.prepare_cached(select).await?;
            let upto = upto.cast_signed();
            let rows = client.query(&select, &[&self.id, &model, &texts, &upto]).await?;
            let vector = |row: &tokio_postgres::Row| {
                Ok((stored_hash(row.get(0))?, decoded(row.get(1), row.get(2))?))
            };
            rows.iter().map(vector).collect()
        })
    }

    /// Returns the texts among `texts` that have a vector of the model with the key `model`.
    pub(crate) fn texts_with_vector(
        &self,
        model: &[u8],
        texts: &[TextHash],
    ) -> Result<HashSet<TextHash>, ClusterError> {
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| bytes_of(*text)).collect();
        self.database.run("read vectors", async {
            let client = self.database.client().await?;
            let select = "select text from noteweft.vector
                 where collection = $1 and model = $2 and text = any ($3)";
            let select = client.prepare_cached(select).await?;
            let rows = client.query(&select, &[&self.id, &model, &texts]).await?;
            rows.iter().map(|row| stored_hash(row.get(0))).collect()
        })
    }

    /// Returns the texts whose vectors the commits after `after` and up to `upto` stored.
    pub fn new_vectors(
        &self,
        model: &ModelIdentity,
        after: u64,
        upto: u64,
    ) -> Result<Vec<TextHash>, ClusterError> {
        let model = model_key(model);
        self.database.run("read the log", async {
            let client = self.database.client().await?;
            let select = "select text from noteweft.vector
                 where collection = $1 and model = $2 and generation > $3 and generation <= $4";
            let select = client.prepare_cached(select).await?;
            let (after, upto) = (after.cast_signed(), upto.cast_signed());
            let rows = client.query(&select, &[&self.id, &model, &after, &upto]).await?;
            rows.iter().map(|row| stored_hash(row.get(0))).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_vector_is_detected() {
        let vector = [0.6, -0.8, f32::MIN_POSITIVE];
        let mut bytes = encoded(&vector);
        let crc = crc32fast::hash(&bytes).cast_signed();
        assert!(decoded(&bytes, crc).is_ok_and(|found| found == vector));
        bytes[0] ^= 1;
        assert!(matches!(decoded(&bytes, crc), Err(TaskError::Damaged(_))));
    }
}
