//! What a question needs of the command line before it is asked: which state answers, and the notes that were named by files.

use std::path::{Component, Path, PathBuf};

use weft_model::id::without_markdown_extension;
use weft_proto::noteweft::v1::{
    AssembleRequest, CyclesRequest, DeleteNoteRequest, DiffRequest, ExportRequest, Filter,
    GetNoteRequest, ListNotesRequest, MoveNoteRequest, NeighborsRequest, OrphansRequest,
    PathRequest, PutNoteRequest, RelatedRequest, ResolveLinkRequest, SearchRequest, StatusRequest,
    SubgraphRequest, TopicSiblingsRequest, TreeRequest, UnresolvedRequest, VaultStatus,
    WhyNotRequest,
};

use crate::asker::Asker;
use crate::cli::Global;
use crate::failure::Failure;

/// A request as the flags make it.
pub(crate) trait Question: Sized {
    /// The same, answered by the state that the flags name, where others than the newest can.
    fn when(self, _: &Global) -> Self {
        self
    }

    /// Where it names notes and folders, each of which may say in which vault it is.
    fn names(&mut self) -> Vec<&mut String>;
}

/// Requests that a stored state can answer, each with where it names notes.
macro_rules! questions {
    ($($request:ident: |$it:pat_param| $names:expr);+ $(;)?) => {$(
        impl Question for $request {
            fn when(self, global: &Global) -> Self {
                Self { min_generation: global.min_generation, as_of: global.as_of, ..self }
            }

            fn names(&mut self) -> Vec<&mut String> {
                let $it = self;
                $names
            }
        }
    )+};
}

questions! {
    AssembleRequest: |it| {
        let mut names = of_filter(&mut it.filter);
        names.extend(it.notes.iter_mut().map(|note| &mut note.name));
        names.extend(it.focus.as_mut().map(|focus| &mut focus.note));
        names.extend(it.walk.iter_mut().flat_map(Question::names));
        names
    };
    CyclesRequest: |it| of_filter(&mut it.filter);
    DiffRequest: |_| Vec::new();
    ExportRequest: |it| of_filter(&mut it.filter);
    GetNoteRequest: |it| vec![&mut it.name];
    ListNotesRequest: |it| of_filter(&mut it.filter);
    NeighborsRequest: |it| with(&mut it.filter, [&mut it.note]);
    OrphansRequest: |it| of_filter(&mut it.filter);
    PathRequest: |it| with(&mut it.filter, [&mut it.from, &mut it.to]);
    RelatedRequest: |it| with(&mut it.filter, [&mut it.focus]);
    ResolveLinkRequest: |it| it.from.iter_mut().collect();
    SearchRequest: |it| of_filter(&mut it.filter);
    SubgraphRequest: |it| with(&mut it.filter, &mut it.notes);
    TopicSiblingsRequest: |it| with(&mut it.filter, [&mut it.note]);
    TreeRequest: |it| with(&mut it.filter, &mut it.roots);
    UnresolvedRequest: |it| of_filter(&mut it.filter);
}

impl Question for DeleteNoteRequest {
    fn names(&mut self) -> Vec<&mut String> {
        vec![&mut self.name]
    }
}

impl Question for MoveNoteRequest {
    fn names(&mut self) -> Vec<&mut String> {
        vec![&mut self.name, &mut self.to]
    }
}

impl Question for PutNoteRequest {
    fn names(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }
}

impl Question for WhyNotRequest {
    fn when(self, global: &Global) -> Self {
        Self { search: self.search.map(|search| search.when(global)), ..self }
    }

    fn names(&mut self) -> Vec<&mut String> {
        let search = self.search.iter_mut().flat_map(Question::names);
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

impl Asker {
    /// The question as it is to be asked.
    ///
    /// A file or folder named from here, as the shell completes it, goes by what its vault calls it; not where what was typed is a path in a vault, too.
    pub(crate) async fn ready<Q: Question>(
        &self,
        question: Q,
        global: &Global,
    ) -> Result<Q, Failure> {
        let mut question = question.when(global);
        if question.names().iter().any(|name| folder_and_file(name).is_some()) {
            // Who may only read is not told where the vaults lie: names stay as they are typed.
            let status = self.admin().status(StatusRequest {}).await;
            let vaults = status.map(|status| status.into_inner().vaults).unwrap_or_default();
            let places = Places::new(&vaults);
            for name in question.names() {
                if let Some((vault, path)) = places.find(name) {
                    *name = if vaults.len() > 1 { format!("{vault}:{path}") } else { path };
                }
            }
        }
        Ok(question)
    }
}

/// What is there of a path seen from here: all of it, or the folder of a note that is not there yet. Nothing for other names.
fn folder_and_file(name: &str) -> Option<(&Path, &str)> {
    let path = Path::new(name);
    let is_note = without_markdown_extension(name) != name;
    if (is_note || name.contains(std::path::is_separator)) && path.exists() {
        return Some((path, ""));
    }
    let folder = path.parent().filter(|folder| is_note && folder.is_dir())?;
    Some((folder, path.file_name()?.to_str()?))
}

/// The vaults that answer, by their folders as they are named and without links.
struct Places<'v>(Vec<(&'v str, [PathBuf; 2])>);

impl<'v> Places<'v> {
    fn new(vaults: &'v [VaultStatus]) -> Self {
        let place = |vault: &'v VaultStatus| {
            let root = PathBuf::from(&vault.root);
            let real = root.canonicalize().unwrap_or_else(|_| root.clone());
            (&*vault.name, [root, real])
        };
        Self(vaults.iter().map(place).collect())
    }

    /// The vault in which a path seen from here lies, and the path there.
    fn find(&self, name: &str) -> Option<(&'v str, String)> {
        let (here, file) = folder_and_file(name)?;
        let is_own = |(_, [root, _]): &(&str, [PathBuf; 2])| root.join(here).exists();
        // Nobody writes a path in a vault with dots.
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
            // Joined with nothing a path would end in a separator.
            let path = path.components().as_path().to_str()?.replace('\\', "/");
            Some((*vault, path))
        })
    }
}
