//! Completes requests from the command line before they are sent: the generation to answer from, and note names given as file paths.

use std::path::{Component, Path, PathBuf};

use weft_model::id::without_markdown_extension;
use weft_proto::noteweft::v1::{
    AssembleRequest, BrokenLinksRequest, CyclesRequest, DeleteNoteRequest, DiffRequest,
    DuplicatesRequest, ExportRequest, FacetsRequest, Filter, GetNoteRequest, LinkMentionsRequest,
    ListNotesRequest, LocateNoteRequest, MoveNoteRequest, NeighborsRequest, OrphansRequest,
    PathRequest, PutNoteRequest, RelatedRequest, ResolveLinkRequest, SearchRequest,
    StaleNotesRequest, StatusRequest, SubgraphRequest, SuggestedLinksRequest, TopicSiblingsRequest,
    TreeRequest, UnresolvedRequest, VaultStatus, WhyNotRequest,
};

use crate::cli::Global;
use crate::client::Client;
use crate::failure::Failure;

/// A request built from flags.
pub(crate) trait CliRequest: Sized {
    /// Sets the generation that the flags name, if the request supports it.
    fn at_generation(self, _: &Global) -> Self {
        self
    }

    /// Returns the fields that name notes or folders, each of which may carry a vault prefix.
    fn names_mut(&mut self) -> Vec<&mut String>;
}

/// Implements [`CliRequest`] for requests that a stored generation can answer, each with its fields that name notes.
macro_rules! requests {
    ($($request:ident: |$it:pat_param| $names:expr);+ $(;)?) => {$(
        impl CliRequest for $request {
            fn at_generation(self, global: &Global) -> Self {
                Self { min_generation: global.min_generation, as_of: global.as_of, ..self }
            }

            fn names_mut(&mut self) -> Vec<&mut String> {
                let $it = self;
                $names
            }
        }
    )+};
}

requests! {
    AssembleRequest: |it| {
        let mut names = of_filter(&mut it.filter);
        names.extend(it.notes.iter_mut().map(|note| &mut note.name));
        names.extend(it.focus.as_mut().map(|focus| &mut focus.note));
        names.extend(it.walk.iter_mut().flat_map(CliRequest::names_mut));
        names
    };
    BrokenLinksRequest: |it| of_filter(&mut it.filter);
    CyclesRequest: |it| of_filter(&mut it.filter);
    DiffRequest: |_| Vec::new();
    DuplicatesRequest: |it| of_filter(&mut it.filter);
    ExportRequest: |it| of_filter(&mut it.filter);
    FacetsRequest: |it| of_filter(&mut it.filter);
    GetNoteRequest: |it| vec![&mut it.name];
    ListNotesRequest: |it| of_filter(&mut it.filter);
    NeighborsRequest: |it| with(&mut it.filter, [&mut it.note]);
    OrphansRequest: |it| of_filter(&mut it.filter);
    PathRequest: |it| with(&mut it.filter, [&mut it.from, &mut it.to]);
    RelatedRequest: |it| with(&mut it.filter, [&mut it.focus]);
    ResolveLinkRequest: |it| it.from.iter_mut().collect();
    SearchRequest: |it| of_filter(&mut it.filter);
    StaleNotesRequest: |it| of_filter(&mut it.filter);
    SuggestedLinksRequest: |it| with(&mut it.filter, Some(&mut it.note).filter(|note| !note.is_empty()));
    SubgraphRequest: |it| with(&mut it.filter, &mut it.notes);
    TopicSiblingsRequest: |it| with(&mut it.filter, [&mut it.note]);
    TreeRequest: |it| with(&mut it.filter, &mut it.roots);
    UnresolvedRequest: |it| of_filter(&mut it.filter);
}

impl CliRequest for DeleteNoteRequest {
    fn names_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.name]
    }
}

impl CliRequest for LocateNoteRequest {
    fn at_generation(self, global: &Global) -> Self {
        Self { min_generation: global.min_generation, ..self }
    }

    fn names_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.name]
    }
}

impl CliRequest for LinkMentionsRequest {
    fn names_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.note]
    }
}

impl CliRequest for MoveNoteRequest {
    fn names_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.name, &mut self.to]
    }
}

impl CliRequest for PutNoteRequest {
    fn names_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }
}

impl CliRequest for WhyNotRequest {
    fn at_generation(self, global: &Global) -> Self {
        Self { search: self.search.map(|search| search.at_generation(global)), ..self }
    }

    fn names_mut(&mut self) -> Vec<&mut String> {
        let search = self.search.iter_mut().flat_map(CliRequest::names_mut);
        search.chain([&mut self.note]).collect()
    }
}

fn with<'r>(
    filter: &'r mut Option<Filter>,
    names: impl IntoIterator<Item = &'r mut String>,
) -> Vec<&'r mut String> {
    names.into_iter().chain(of_filter(filter)).collect()
}

fn of_filter(filter: &mut Option<Filter>) -> Vec<&mut String> {
    let Some(Filter { paths, linked_to, linked_from, within, excluded, .. }) = filter else {
        return Vec::new();
    };
    let within = within.iter_mut().map(|within| &mut within.note);
    let notes = linked_to.iter_mut().chain(linked_from).chain(within).chain(excluded);
    paths.iter_mut().chain(notes).collect()
}

impl Client {
    /// Prepares a request for sending.
    ///
    /// A path to a file or folder relative to the working directory, as completed by the shell, is replaced by the path in its vault, unless the typed text is also a path in a vault.
    pub(crate) async fn prepare<Q: CliRequest>(
        &self,
        request: Q,
        global: &Global,
    ) -> Result<Q, Failure> {
        let mut request = request.at_generation(global);
        if request.names_mut().iter().any(|name| folder_and_file(name).is_some()) {
            // Clients without admin access cannot see the roots of the vaults; their names are sent as typed.
            let status = self.admin().status(StatusRequest {}).await;
            let vaults = status.map(|status| status.into_inner().vaults).unwrap_or_default();
            let roots_of_vaults = VaultRoots::new(&vaults);
            for name in request.names_mut() {
                if let Some((vault, path)) = roots_of_vaults.find(name) {
                    *name = if vaults.len() > 1 { format!("{vault}:{path}") } else { path };
                }
            }
        }
        Ok(request)
    }
}

/// Splits a path relative to the working directory into its existing part and, for a note that does not exist yet, the file name. Returns `None` for other names.
fn folder_and_file(name: &str) -> Option<(&Path, &str)> {
    let path = Path::new(name);
    let is_note = without_markdown_extension(name) != name;
    if (is_note || name.contains(std::path::is_separator)) && path.exists() {
        return Some((path, ""));
    }
    let folder = path.parent().filter(|folder| is_note && folder.is_dir())?;
    Some((folder, path.file_name()?.to_str()?))
}

/// Vaults with their root folders, as configured and with symbolic links resolved.
struct VaultRoots<'v>(Vec<(&'v str, [PathBuf; 2])>);

impl<'v> VaultRoots<'v> {
    fn new(vaults: &'v [VaultStatus]) -> Self {
        let place = |vault: &'v VaultStatus| {
            let root = PathBuf::from(&vault.root);
            let real = root.canonicalize().unwrap_or_else(|_| root.clone());
            (&*vault.name, [root, real])
        };
        Self(vaults.iter().map(place).collect())
    }

    /// Returns the vault that contains a path relative to the working directory, and the path in the vault.
    fn find(&self, name: &str) -> Option<(&'v str, String)> {
        let (here, file) = folder_and_file(name)?;
        let is_own = |(_, [root, _]): &(&str, [PathBuf; 2])| root.join(here).exists();
        // Paths in a vault contain no dot segments.
        let is_plain =
            |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain(here) && self.0.iter().any(is_own) {
            return None;
        }
        let whole = [std::path::absolute(here).ok()?, here.canonicalize().ok()?];
        self.0.iter().find_map(|(vault, roots)| {
            let below = |root| {
                let mut below = whole.iter().filter_map(|path| path.strip_prefix(root).ok());
                below.find(|path| is_plain(path))
            };
            let path = roots.iter().find_map(below)?.join(file);
            // Joining an empty file name adds a separator at the end.
            let path = path.components().as_path().to_str()?.replace('\\', "/");
            Some((*vault, path))
        })
    }
}
