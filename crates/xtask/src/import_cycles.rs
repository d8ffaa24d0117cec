//! Import cycles: within a crate, files import each other in one direction only.
//!
//! Reads paths that start with `crate::`, `super::` or `self::` and resolves them to files.
//! A parent module that declares or re-exports its children does not import them; a path through a re-export leads to the file behind it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::rust_source::Source;

/// A module as a path from the root of its crate: `[]` for the root itself.
type Module = Vec<String>;

/// Returns one line per group of files that import each other, with a shortest cycle through the first of them.
pub(crate) fn breaches(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    // The command line is an application whose commands and flags know each other; libraries have layers.
    for source in sources.iter().filter(|source| source.krate != "weft") {
        crates.entry(&source.krate).or_default().push(source);
    }
    let mut breaches = Vec::new();
    for (krate, sources) in crates {
        let graph = ImportGraph::new(&sources);
        for cycle in graph.cycles() {
            let files: Vec<_> =
                cycle.iter().map(|module| graph.files[*module].path.as_str()).collect();
            breaches.push(format!(
                "crates/{krate}/src: files import each other: {}",
                files.join(" -> ")
            ));
        }
    }
    breaches
}

struct ImportGraph<'s> {
    files: BTreeMap<Module, &'s Source>,
    /// Names that a module re-exports or imports, with the paths they stand for.
    aliases: BTreeMap<Module, BTreeMap<String, Module>>,
    imports: BTreeMap<Module, BTreeSet<Module>>,
}

impl<'s> ImportGraph<'s> {
    fn new(sources: &[&'s Source]) -> Self {
        let files: BTreeMap<Module, &Source> =
            sources.iter().map(|source| (module(&source.path), *source)).collect();
        let mut graph = Self { files, aliases: BTreeMap::new(), imports: BTreeMap::new() };
        let declared = |module: &Module, child: &str| {
            let mut path = module.clone();
            path.push(child.to_owned());
            graph.files.contains_key(&path)
        };
        let mut aliases = BTreeMap::new();
        for (module, source) in &graph.files {
            let mut names = BTreeMap::new();
            for (path, name) in use_items(&source.code) {
                let target = match path.first().map(String::as_str) {
                    Some("crate" | "super" | "self") => absolute(module, &path),
                    Some(child) if declared(module, child) => Some([&module[..], &path].concat()),
                    _ => None,
                };
                names.extend(target.map(|target| (name, target)));
            }
            aliases.insert(module.clone(), names);
        }
        graph.aliases = aliases;
        for (module, source) in &graph.files {
            let paths = qualified_paths(&source.code);
            let targets = paths.iter().filter_map(|path| graph.file_of(&absolute(module, path)?));
            let targets = targets.filter(|target| target != module);
            graph.imports.insert(module.clone(), targets.collect());
        }
        graph
    }

    /// Returns the file that defines the item at an absolute path.
    fn file_of(&self, path: &Module) -> Option<Module> {
        let mut path = path.clone();
        // Re-exports may lead on to re-exports; a bound ends loops among them.
        for _ in 0..8 {
            let n_known = (0..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]))?;
            let home = path[..n_known].to_vec();
            let behind = path.get(n_known).and_then(|name| self.aliases[&home].get(name));
            match behind {
                Some(target) => path = [target, &path[n_known + 1..]].concat(),
                None => return Some(home),
            }
        }
        None
    }

    /// Returns the modules reached from `start` by one import or more, each with the one before it.
    fn reached(&self, start: &Module) -> BTreeMap<&Module, &Module> {
        let mut before = BTreeMap::new();
        let mut queue: VecDeque<&Module> = VecDeque::new();
        queue.extend(self.imports.get_key_value(start).map(|(start, _)| start));
        while let Some(module) = queue.pop_front() {
            for target in &self.imports[module] {
                before.entry(target).or_insert_with(|| {
                    queue.push_back(target);
                    module
                });
            }
        }
        before
    }

    /// Returns a shortest cycle for each strongly connected component, its first module repeated at its end.
    fn cycles(&self) -> Vec<Vec<&Module>> {
        let reached: BTreeMap<&Module, _> =
            self.files.keys().map(|module| (module, self.reached(module))).collect();
        let mut done: BTreeSet<&Module> = BTreeSet::new();
        let mut cycles = Vec::new();
        for (start, before) in &reached {
            if done.contains(start) || !before.contains_key(start) {
                continue;
            }
            done.extend(before.keys().filter(|other| reached[**other].contains_key(start)));
            let mut cycle = vec![*start];
            let mut at = before[start];
            while at != *start {
                cycle.push(at);
                at = before[at];
            }
            cycle.push(start);
            cycle.reverse();
            cycles.push(cycle);
        }
        cycles
    }
}

/// Returns the module of a file below `src`.
fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        module.pop();
    }
    module
}

/// Returns the absolute form of a path written in `module`; `None` above the crate's root.
fn absolute(module: &Module, path: &[String]) -> Option<Module> {
    let mut absolute = module.clone();
    let mut rest = path;
    while let [first, others @ ..] = rest {
        match first.as_str() {
            "crate" => absolute.clear(),
            "self" => {}
            "super" => {
                absolute.pop()?;
            }
            _ => break,
        }
        rest = others;
    }
    absolute.extend_from_slice(rest);
    Some(absolute)
}

/// Returns the items of the `use` declarations in `code`, each with the name that it gets.
fn use_items(code: &str) -> Vec<(Vec<String>, String)> {
    let mut items = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].trim_end();
        if before.is_empty()
            || before.ends_with([';', '}', '{', ']', ')'])
            || before.ends_with("pub")
        {
            let end = code[at..].find(';').map_or(code.len(), |end| at + end);
            expand(&code[at + 4..end], &mut Vec::new(), &mut items);
        }
    }
    items
}

/// Returns the paths in `code` that start with `crate`, `super` or `self`, groups in braces expanded.
fn qualified_paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            // Later parts of a longer path belong to that path, and `$crate` to a macro.
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || [':', '_', '$'].contains(&c)) {
                continue;
            }
            let mut items = Vec::new();
            expand(path_text(&code[at..]), &mut Vec::new(), &mut items);
            paths.extend(items.into_iter().map(|(path, _)| path));
        }
    }
    paths
}

/// Returns the path that `code` starts with, up to the end of its group in braces if it has one.
fn path_text(code: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' if depth > 0 || code[..at].ends_with("::") => depth += 1,
            '}' if depth == 1 => return &code[..=at],
            '}' if depth > 1 => depth -= 1,
            _ if depth > 0 || c.is_alphanumeric() || [':', '_', '*'].contains(&c) => {}
            _ => return &code[..at],
        }
    }
    code
}

/// Adds the items of one `use` tree below `prefix`, each with its name.
fn expand(tree: &str, prefix: &mut Vec<String>, items: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let n_before = prefix.len();
    if let Some((path, group)) = tree.split_once('{') {
        prefix.extend(segments(path));
        let group = group.trim_end().trim_end_matches('}');
        let (mut depth, mut start) = (0_usize, 0);
        for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    expand(&group[start..at], prefix, items);
                    start = at + 1;
                }
                _ => {}
            }
        }
    } else if !tree.is_empty() {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        prefix.extend(segments(path));
        if n_before > 0
            && prefix.len() == n_before + 1
            && prefix.last().is_some_and(|last| last == "self")
        {
            prefix.pop();
        }
        let last = prefix.last().cloned().unwrap_or_default();
        items.push((prefix.clone(), if name.is_empty() { last } else { name.trim().to_owned() }));
    }
    prefix.truncate(n_before);
}

fn segments(path: &str) -> impl Iterator<Item = String> {
    path.split("::")
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty() && part != "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files
            .iter()
            .map(|(path, code)| Source {
                krate: "fern".to_owned(),
                path: (*path).to_owned(),
                code: (*code).to_owned(),
            })
            .collect();
        breaches(&sources)
    }

    #[test]
    fn files_of_the_workspace_import_in_one_direction() {
        let files = crate::tidy::tracked(crate::root()).unwrap();
        assert_eq!(breaches(&crate::rust_source::sources(&files)), [""; 0]);
    }

    #[test]
    fn files_that_import_each_other_are_reported() {
        let prefix = "crates/fern/src: files import each other: ";
        type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [&'c str]);
        let cases: [Case<'_>; 8] = [
            ("one direction", &[("a.rs", "use crate::b::B;"), ("b.rs", "use std::fmt;")], &[]),
            (
                "both directions",
                &[("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::g() }")],
                &["a.rs -> b.rs -> a.rs"],
            ),
            (
                "a group, over three files",
                &[
                    ("a.rs", "use crate::{c, b::{self, B}};"),
                    ("b.rs", "use super::c;"),
                    ("c.rs", "use crate::a;"),
                ],
                &["a.rs -> c.rs -> a.rs"],
            ),
            (
                "a parent that re-exports",
                &[
                    ("a/mod.rs", "mod b;\nmod c;\npub use b::B;"),
                    ("a/b.rs", "use super::c;"),
                    ("a/c.rs", ""),
                ],
                &[],
            ),
            (
                "through a re-export",
                &[
                    ("a/mod.rs", "mod b;\nmod c;\npub use b::B;"),
                    ("a/b.rs", "use super::c;"),
                    ("a/c.rs", "use super::B;"),
                ],
                &["a/b.rs -> a/c.rs -> a/b.rs"],
            ),
            (
                "an item of the parent",
                &[("a.rs", "mod b;\nuse crate::a::b::B;"), ("a/b.rs", "use super::A;")],
                &["a.rs -> a/b.rs -> a.rs"],
            ),
            (
                "the parent's private import",
                &[
                    ("lib.rs", "mod a;\nmod b;\nuse a::A;"),
                    ("a.rs", "use crate::b;"),
                    ("b.rs", "use crate::A;"),
                ],
                &["a.rs -> b.rs -> a.rs"],
            ),
            (
                "two cycles",
                &[
                    ("a.rs", "use crate::b;"),
                    ("b.rs", "use crate::a;"),
                    ("c.rs", "use crate::d;"),
                    ("d.rs", "use crate::c;\nuse crate::a;"),
                ],
                &["a.rs -> b.rs -> a.rs", "c.rs -> d.rs -> c.rs"],
            ),
        ];
        for (name, files, expected) in cases {
            let expected: Vec<String> =
                expected.iter().map(|cycle| format!("{prefix}{cycle}")).collect();
            assert_eq!(found(files), expected, "{name}");
        }
    }
}
