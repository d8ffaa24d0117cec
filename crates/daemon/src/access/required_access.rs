//! The access that each method requires.

/// Access that a request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredAccess {
    /// Access to the health service.
    Health,
    /// Permission to read.
    Read,
    /// Permission to write.
    Write,
}

/// Methods that only read, by service.
const READ_METHODS: &[(&str, &[&str])] = &[
    ("noteweft.v1.SearchService", &["Search", "WhyNot", "Facets", "WatchQuery"]),
    ("noteweft.v1.ContextService", &["Assemble", "AssembleStream"]),
    (
        "noteweft.v1.GraphService",
        &[
            "Related",
            "Tree",
            "Path",
            "Neighbors",
            "TopicSiblings",
            "Subgraph",
            "Cycles",
            "Orphans",
            "Unresolved",
            "Export",
            "Diff",
        ],
    ),
    ("noteweft.v1.HygieneService", &["Duplicates", "SuggestedLinks", "StaleNotes", "BrokenLinks"]),
    ("noteweft.v1.NoteService", &["GetNote", "ListNotes", "ResolveLink"]),
    ("grpc.reflection.v1.ServerReflection", &["ServerReflectionInfo"]),
    ("grpc.reflection.v1alpha.ServerReflection", &["ServerReflectionInfo"]),
];

/// Returns the access that a request to `path` requires.
///
/// A method that is not listed as reading requires permission to write, so a new method is closed by default.
/// A path that is not a method, such as a file of the page, requires permission to read.
pub(crate) fn required_access(path: &str) -> RequiredAccess {
    let Some((service, call)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return RequiredAccess::Read;
    };
    if service == "grpc.health.v1.Health" {
        return RequiredAccess::Health;
    }
    let reads = |(name, calls): &(&str, &[&str])| *name == service && calls.contains(&call);
    if READ_METHODS.iter().any(reads) { RequiredAccess::Read } else { RequiredAccess::Write }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Methods of the contract that require permission to write.
    const WRITE_METHODS: &[&str] =
        &["PutNote", "DeleteNote", "MoveNote", "LinkMentions", "LocateNote"];

    #[test]
    fn every_method_of_the_contract_is_listed() {
        let set = FileDescriptorSet::decode(weft_proto::FILE_DESCRIPTOR_SET).unwrap();
        let mut n_calls = 0;
        for file in set.file.iter().filter(|file| file.package() == "noteweft.v1") {
            for service in &file.service {
                for call in &service.method {
                    let path = format!("/noteweft.v1.{}/{}", service.name(), call.name());
                    let writes =
                        service.name() == "AdminService" || WRITE_METHODS.contains(&call.name());
                    let expected =
                        if writes { RequiredAccess::Write } else { RequiredAccess::Read };
                    assert_eq!(
                        required_access(&path),
                        expected,
                        "{path}: add it to `READ_METHODS` if it only reads, else to `WRITE_METHODS`"
                    );
                    n_calls += 1;
                }
            }
        }
        assert!(n_calls > 8);
    }

    #[test]
    fn unknown_methods_require_write_permission() {
        for (path, expected) in [
            ("/grpc.health.v1.Health/Check", RequiredAccess::Health),
            ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", RequiredAccess::Read),
            ("/", RequiredAccess::Read),
            ("/metrics", RequiredAccess::Read),
            ("/page.js", RequiredAccess::Read),
            (weft_mcp::PATH, RequiredAccess::Read),
            (weft_mcp::WRITE_PATH, RequiredAccess::Write),
            ("/noteweft.v1.NoteService/EraseNote", RequiredAccess::Write),
            ("/noteweft.v1.NoteService/getnote", RequiredAccess::Write),
            ("//noteweft.v1.NoteService/GetNote", RequiredAccess::Write),
            ("/noteweft.v1.SearchService.x/Search", RequiredAccess::Write),
            ("/noteweft.v1.GraphService/Erase", RequiredAccess::Write),
            ("/grpc.reflection.v1.ServerReflection/Other", RequiredAccess::Write),
            ("/another.Service/Call", RequiredAccess::Write),
        ] {
            assert_eq!(required_access(path), expected, "{path}");
        }
    }
}
