//! The right that each call needs.

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// To hear whether the daemon serves.
    Health,
    /// To read.
    Read,
    /// Everything else.
    Write,
}

/// Calls that leave notes and daemon as they are, by service; `*` stands for all of a service.
const READING: &[(&str, &[&str])] = &[
    ("noteweft.v1.SearchService", &["*"]),
    ("noteweft.v1.ContextService", &["*"]),
    ("noteweft.v1.GraphService", &["*"]),
    ("noteweft.v1.NoteService", &["GetNote", "ListNotes", "ResolveLink"]),
    ("grpc.reflection.v1.ServerReflection", &["*"]),
    ("grpc.reflection.v1alpha.ServerReflection", &["*"]),
];

/// The right that a request to `path` needs.
///
/// What is not known to only read needs the right to write, so a call that is added and forgotten here is closed.
/// A path that names no call of a service is a file of the page or the like, which only reads.
pub(crate) fn need(path: &str) -> Need {
    let Some((service, call)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return Need::Read;
    };
    if service == "grpc.health.v1.Health" {
        return Need::Health;
    }
    let reads = |(name, calls): &(&str, &[&str])| {
        *name == service && (calls.contains(&"*") || calls.contains(&call))
    };
    if READING.iter().any(reads) { Need::Read } else { Need::Write }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Calls of the contract that need the right to write.
    const WRITING: &[&str] = &["PutNote", "DeleteNote", "MoveNote"];

    #[test]
    fn each_call_of_the_contract_is_known() {
        let set = FileDescriptorSet::decode(weft_proto::FILE_DESCRIPTOR_SET).unwrap();
        let mut n_calls = 0;
        for file in set.file.iter().filter(|file| file.package() == "noteweft.v1") {
            for service in &file.service {
                for call in &service.method {
                    let path = format!("/noteweft.v1.{}/{}", service.name(), call.name());
                    let writes = service.name() == "AdminService" || WRITING.contains(&call.name());
                    let expected = if writes { Need::Write } else { Need::Read };
                    assert_eq!(need(&path), expected, "{path}: add it to `READING` or `WRITING`");
                    n_calls += 1;
                }
            }
        }
        assert!(n_calls > 8);
    }

    #[test]
    fn what_is_unknown_is_closed() {
        for (path, expected) in [
            ("/grpc.health.v1.Health/Check", Need::Health),
            ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Need::Read),
            ("/", Need::Read),
            ("/metrics", Need::Read),
            ("/page.js", Need::Read),
            (weft_mcp::PATH, Need::Read),
            ("/noteweft.v1.NoteService/EraseNote", Need::Write),
            ("/noteweft.v1.NoteService/getnote", Need::Write),
            ("//noteweft.v1.NoteService/GetNote", Need::Write),
            ("/noteweft.v1.SearchService.x/Search", Need::Write),
            ("/another.Service/Call", Need::Write),
        ] {
            assert_eq!(need(path), expected, "{path}");
        }
    }
}
