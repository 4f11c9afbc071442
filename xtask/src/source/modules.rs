//! The modules of a crate, and the things that paths name in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};

use super::items::{Declared, Import, Path, Scope, scope};
use super::tokens::tokens;

/// A crate's modules, without those for tests; the first is its root.
#[derive(Debug, Default)]
pub struct Modules(Vec<Module>);

/// A module, in a file or inside another one.
#[derive(Debug)]
struct Module {
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    scope: Scope,
}

/// The thing that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

/// One file of a crate uses what another one defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The user.
    pub from: PathBuf,
    /// The file that defines the used item.
    pub to: PathBuf,
    /// The path that names it, as it is written, and its line.
    pub path: String,
    /// The line of the path.
    pub line: usize,
}

/// A path that leads through the imports of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detour {
    /// The user.
    pub file: PathBuf,
    /// The line of the path.
    pub line: usize,
    /// The path, as it is written.
    pub path: String,
    /// The shorter path, by the root's own import.
    pub instead: String,
}

/// Most imports between a name and its item.
const MOST_HOPS: usize = 32;

impl Modules {
    /// Reads a crate from its root file. `text` returns the text of a file: `None` for one that does not exist.
    pub fn read(root: &FilePath, text: &dyn Fn(&FilePath) -> Option<String>) -> Self {
        let mut modules = Self::default();
        let folder = root.parent().unwrap_or(root).to_owned();
        if let Some(content) = text(root) {
            modules.add(scope(&tokens(&content)), root, &folder, None, text);
        }
        modules
    }

    fn add(
        &mut self,
        mut scope: Scope,
        file: &FilePath,
        folder: &FilePath,
        parent: Option<usize>,
        text: &dyn Fn(&FilePath) -> Option<String>,
    ) -> usize {
        let declared = std::mem::take(&mut scope.modules);
        let at = self.0.len();
        self.0.push(Module { file: file.to_owned(), parent, children: BTreeMap::new(), scope });
        for Declared { name, inline, .. } in
            declared.into_iter().filter(|module| !module.test && !module.elsewhere)
        {
            let inner = folder.join(&name);
            let found = match inline {
                Some(scope) => Some((scope, file.to_owned())),
                None => [inner.with_extension("rs"), inner.join("mod.rs")]
                    .into_iter()
                    .find_map(|file| Some((self::scope(&tokens(&text(&file)?)), file))),
            };
            if let Some((scope, file)) = found {
                let child = self.add(scope, &file, &inner, Some(at), text);
                self.0[at].children.insert(name, child);
            }
        }
        at
    }

    /// The arrows between files, each pair with each path once.
    pub fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (at, module) in self.0.iter().enumerate() {
            for path in self.used_paths(at) {
                let Some(Named::Item(definer)) = self.resolve(at, &path.names, 0) else { continue };
                let to = &self.0[definer].file;
                if *to != module.file {
                    let (from, to) = (module.file.clone(), to.clone());
                    arrows.insert(Arrow { from, to, path: path.names.join("::"), line: path.line });
                }
            }
        }
        arrows
    }

    /// The paths that a module itself uses. An import that it only passes on does not count.
    fn used_paths(&self, at: usize) -> Vec<Path> {
        let scope = &self.0[at].scope;
        let mut used = scope.paths.clone();
        for import in &scope.imports {
            match &import.name {
                // If its name occurs elsewhere, that is one of the paths.
                Some(_) if import.public => {}
                Some(_) => used.push(import.path.clone()),
                // Each name of the text may come from the star. The paths have them.
                None => {}
            }
        }
        used
    }

    /// Paths by which modules below the root use names that the root only passes on.
    pub fn detours(&self) -> Vec<Detour> {
        let Some(root) = self.0.first() else { return Vec::new() };
        let mut detours = Vec::new();
        for (at, module) in self.0.iter().enumerate().filter(|(_, module)| module.file != root.file)
        {
            let imported = module.scope.imports.iter().map(|import| &import.path);
            for path in imported.chain(&module.scope.paths) {
                let Some((name, rest)) = self.through_root(at, &path.names) else { continue };
                let passes_on = |import: &&Import| import.name.as_ref() == Some(name);
                let own = root.scope.items.contains(name) || root.children.contains_key(name);
                // An item of another crate that the root passes on has no shorter path.
                let is_ours = |import: &&Import| self.resolve_import(0, import, 0).is_some();
                let found = root.scope.imports.iter().find(passes_on).filter(is_ours);
                let Some(import) = found.filter(|_| !own) else { continue };
                let mut names = import.path.names.clone();
                if names.first().is_none_or(|first| first != "crate") {
                    names.insert(0, "crate".to_owned());
                }
                names.retain(|name| name != "self");
                names.extend(rest.iter().cloned());
                detours.push(Detour {
                    file: module.file.clone(),
                    line: path.line,
                    path: path.names.join("::"),
                    instead: names.join("::"),
                });
            }
        }
        detours
    }

    /// The name that a path takes from the root, and the rest of the path.
    fn through_root<'a>(
        &self,
        at: usize,
        names: &'a [String],
    ) -> Option<(&'a String, &'a [String])> {
        let (first, mut rest) = names.split_first()?;
        let mut module = match first.as_str() {
            "crate" => 0,
            "super" => self.0[at].parent?,
            _ => return None,
        };
        while let Some((_, after)) = rest.split_first().filter(|(name, _)| *name == "super") {
            module = self.0[module].parent?;
            rest = after;
        }
        rest.split_first().filter(|_| module == 0)
    }

    /// The thing that a path names in a module; `None` for names of other crates.
    fn resolve(&self, at: usize, names: &[String], hops: usize) -> Option<Named> {
        if hops > MOST_HOPS {
            return None;
        }
        let (first, mut rest) = names.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Named::Module(0),
            "self" => Named::Module(at),
            "super" => Named::Module(self.0[at].parent?),
            name => self.known_member(at, name, rest.is_empty(), hops)?,
        };
        while let (Named::Module(module), Some((name, after))) = (found, rest.split_first()) {
            found = if name == "super" {
                Named::Module(self.0[module].parent?)
            } else {
                let member = self.known_member(module, name, after.is_empty(), hops);
                // Includes names that macros define.
                member.unwrap_or(Named::Item(module))
            };
            rest = after;
        }
        Some(found)
    }

    /// The meaning of a name in a module. The last name of a path is rather an item than a module.
    fn known_member(&self, at: usize, name: &str, last: bool, hops: usize) -> Option<Named> {
        let module = &self.0[at];
        let child = module.children.get(name).map(|child| Named::Module(*child));
        if let Some(child) = child.filter(|_| !last) {
            return Some(child);
        }
        if module.scope.items.contains(name) {
            return Some(Named::Item(at));
        }
        let hops = hops.saturating_add(1);
        let imported = module
            .scope
            .imports
            .iter()
            .filter(|import| import.name.as_deref() == Some(name))
            .find_map(|import| self.resolve_import(at, import, hops));
        imported.or(child).or_else(|| {
            let stars = module.scope.imports.iter().filter(|import| import.name.is_none());
            stars.filter_map(|star| self.resolve(at, &star.path.names, hops)).find_map(|of| {
                let Named::Module(of) = of else { return None };
                if of == at || hops > MOST_HOPS {
                    None
                } else {
                    self.known_member(of, name, last, hops)
                }
            })
        })
    }

    /// The thing that an import brings. It is never another import: `use a::a` begins at the module or crate `a`.
    fn resolve_import(&self, at: usize, import: &Import, hops: usize) -> Option<Named> {
        let first = import.path.names.first()?;
        let is_own =
            import.name.as_ref() == Some(first) && !self.0[at].children.contains_key(first);
        if is_own { None } else { self.resolve(at, &import.path.names, hops) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        let text = |file: &FilePath| {
            let found = files.iter().find(|(name, _)| FilePath::new(name) == file);
            found.map(|(_, text)| (*text).to_owned())
        };
        Modules::read(FilePath::new("src/lib.rs"), &text)
    }

    /// `from to` of each arrow.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let name = |file: &FilePath| file.strip_prefix("src").unwrap().display().to_string();
        let found: BTreeSet<String> = modules(files)
            .arrows()
            .iter()
            .map(|arrow| format!("{} {}", name(&arrow.from), name(&arrow.to)))
            .collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_import_is_an_arrow_to_the_file_that_defines() {
        check(
            &[
                ("src/lib.rs", "mod a; mod b; pub use a::A;"),
                ("src/a/mod.rs", "mod inner; pub use inner::A;"),
                ("src/a/inner.rs", "pub struct A;"),
                ("src/b.rs", "use crate::A; use std::fmt::Debug;"),
            ],
            &["b.rs a/inner.rs"],
        );
    }

    #[test]
    fn a_path_through_an_imported_module_is_one() {
        check(
            &[
                ("src/lib.rs", "mod a; mod b; fn f() { a::g() }"),
                ("src/a.rs", "pub fn g() {}"),
                ("src/b.rs", "use super::a; fn f() { a::g() }"),
            ],
            &["b.rs a.rs", "lib.rs a.rs"],
        );
    }

    #[test]
    fn what_is_passed_on_is_one_where_it_is_used_too() {
        let a = ("src/a.rs", "pub struct A; pub struct B;");
        check(&[("src/lib.rs", "mod a; pub use a::A;"), a], &[]);
        check(&[("src/lib.rs", "mod a; pub use a::A; fn f(_: A) {}"), a], &["lib.rs a.rs"]);
        check(&[("src/lib.rs", "mod a; pub use a::A; fn f(_: io::A) {}"), a], &[]);
        check(&[("src/lib.rs", "mod a; use a::*; fn f(_: A) {}"), a], &["lib.rs a.rs"]);
    }

    #[test]
    fn tests_and_other_files_have_none() {
        check(
            &[
                ("src/lib.rs", "mod a; #[cfg(test)] mod b; #[path = \"../c.rs\"] mod c;"),
                ("src/a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::d::D; }"),
                ("src/b.rs", "use crate::a::A;"),
                ("src/c.rs", "use crate::a::A;"),
            ],
            &[],
        );
    }

    #[test]
    fn inner_modules_and_macros_belong_to_their_file() {
        check(
            &[
                ("src/lib.rs", "mod a; mod b; ids! { pub struct Id; }"),
                ("src/a.rs", "mod inner { use super::super::b::B; use super::X; } struct X;"),
                ("src/b.rs", "pub struct B; use crate::Id;"),
            ],
            &["a.rs b.rs", "b.rs lib.rs"],
        );
    }

    #[test]
    fn what_the_root_passes_on_is_a_detour() {
        let files = [
            ("src/lib.rs", "mod a; mod b; pub use a::{A, B as C}; pub use serde; pub struct D;"),
            ("src/a.rs", "pub struct A; pub struct B;"),
            ("src/b.rs", "use crate::{A, D, a::B, serde::E};\nfn f() { super::C::g() }"),
        ];
        let found: Vec<_> = modules(&files)
            .detours()
            .into_iter()
            .map(|detour| (detour.line, detour.path, detour.instead))
            .collect();
        let expected = [(1, "crate::A", "crate::a::A"), (2, "super::C::g", "crate::a::B::g")];
        assert_eq!(
            found,
            expected.map(|(line, path, instead)| (line, path.to_owned(), instead.to_owned()))
        );
    }
}
