//! Circles of files inside a crate.
//!
//! A use of the surrounding module does not count as an arrow: a folder is one thing, which its `mod.rs` describes. The
//! crate's root is not such a module.

mod exceptions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use self::exceptions::EXCEPTIONS;
use crate::source::modules::{Arrow, Modules};
use crate::workspace;

/// The files of a circle that stays for now, and the reason.
type Exception = (&'static str, &'static [&'static str]);

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut circles = Vec::new();
    for root in workspace::crate_roots()? {
        circles.extend(circles_of(&Modules::read(&root, &workspace::text).arrows(), &root));
    }
    Ok(compare(&circles, EXCEPTIONS))
}

/// A circle: its files, and the arrows among them.
#[derive(Debug)]
struct Circle {
    files: BTreeSet<PathBuf>,
    arrows: BTreeMap<(PathBuf, PathBuf), Arrow>,
}

/// The circles of a crate, in the order of their first files.
fn circles_of(arrows: &BTreeSet<Arrow>, root: &Path) -> Vec<Circle> {
    let mut direct: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    let counted = || arrows.iter().filter(|arrow| !leads_outwards(arrow, root));
    for arrow in counted() {
        direct.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        direct.keys().map(|file| (*file, reached_from(file, &direct))).collect();
    let reaches = |from: &Path, to: &Path| reached.get(from).is_some_and(|all| all.contains(to));
    let mut seen: BTreeSet<&Path> = BTreeSet::new();
    let mut circles = Vec::new();
    for file in reached.keys().copied() {
        if !reaches(file, file) || !seen.insert(file) {
            continue;
        }
        let files: BTreeSet<&Path> =
            reached[file].iter().copied().filter(|other| reaches(other, file)).collect();
        let inside = |arrow: &&Arrow| {
            files.contains(arrow.from.as_path()) && files.contains(arrow.to.as_path())
        };
        let arrows = counted().filter(inside).rev();
        circles.push(Circle {
            arrows: arrows.map(|a| ((a.from.clone(), a.to.clone()), a.clone())).collect(),
            files: files.iter().map(|file| file.to_path_buf()).collect(),
        });
        seen.extend(files);
    }
    circles
}

/// Whether a file uses something of a module around it, except the root.
fn leads_outwards(arrow: &Arrow, root: &Path) -> bool {
    let is_folder = arrow.to.file_name().is_some_and(|name| name == "mod.rs");
    let folder = if is_folder {
        arrow.to.parent().map(Path::to_owned)
    } else {
        Some(arrow.to.with_extension(""))
    };
    arrow.to != root && folder.is_some_and(|folder| arrow.from.starts_with(folder))
}

fn reached_from<'a>(
    start: &'a Path,
    direct: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
) -> BTreeSet<&'a Path> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(file) = open.pop() {
        let next = direct.get(file).into_iter().flatten();
        open.extend(next.filter(|file| reached.insert(**file)));
    }
    reached
}

/// Circles without an exception, and exceptions for files that are in no circle.
fn compare(circles: &[Circle], exceptions: &[Exception]) -> Vec<String> {
    let is_in = |file: &Path, list: &[&str]| list.iter().any(|name| Path::new(name) == file);
    let mut wrong = Vec::new();
    for circle in circles {
        let held = |(_, list): &&Exception| circle.files.iter().all(|file| is_in(file, list));
        if !exceptions.iter().any(|exception| held(&exception)) {
            wrong.push(format!(
                "{} files use each other in a circle:{}",
                circle.files.len(),
                shown(circle)
            ));
        }
    }
    for (_, list) in exceptions {
        let within = |circle: &&Circle| circle.files.iter().all(|file| is_in(file, list));
        let left: BTreeSet<&Path> = circles
            .iter()
            .filter(within)
            .flat_map(|circle| &circle.files)
            .map(PathBuf::as_path)
            .collect();
        let needless = list.iter().filter(|name| !left.contains(Path::new(name)));
        wrong.extend(needless.map(|name| {
            format!(
                "{name} is in no circle of its exception: take it off in xtask/src/tidy/circles/exceptions.rs"
            )
        }));
    }
    wrong
}

/// A line for each pair of files, with one path that makes the arrow.
fn shown(circle: &Circle) -> String {
    let line = |((from, to), arrow): (&(PathBuf, PathBuf), &Arrow)| {
        format!("\n    {}:{} -> {} ({})", from.display(), arrow.line, to.display(), arrow.path)
    };
    circle.arrows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "src/lib.rs";

    fn circles(arrows: &[(&str, &str)]) -> Vec<Circle> {
        let arrow = |(from, to): &(&str, &str)| Arrow {
            from: Path::new("src").join(from),
            to: Path::new("src").join(to),
            path: "crate::a".to_owned(),
            line: 1,
        };
        circles_of(&arrows.iter().map(arrow).collect(), Path::new(ROOT))
    }

    /// The files of each circle.
    fn check(arrows: &[(&str, &str)], expected: &[&[&str]]) {
        let found: Vec<Vec<String>> = circles(arrows)
            .iter()
            .map(|circle| circle.files.iter().map(|file| file.display().to_string()).collect())
            .collect();
        assert_eq!(found, expected, "{arrows:?}");
    }

    #[test]
    fn circles_are_found() {
        check(&[("a.rs", "b.rs"), ("b.rs", "c.rs"), ("a.rs", "c.rs")], &[]);
        check(
            &[("a.rs", "b.rs"), ("b.rs", "a.rs"), ("c.rs", "a.rs")],
            &[&["src/a.rs", "src/b.rs"]],
        );
        check(
            &[
                ("a.rs", "b.rs"),
                ("b.rs", "c.rs"),
                ("c.rs", "a.rs"),
                ("d.rs", "e.rs"),
                ("e.rs", "d.rs"),
            ],
            &[&["src/a.rs", "src/b.rs", "src/c.rs"], &["src/d.rs", "src/e.rs"]],
        );
    }

    #[test]
    fn a_folder_may_describe_its_files() {
        check(&[("a/mod.rs", "a/b.rs"), ("a/b.rs", "a/mod.rs")], &[]);
        check(&[("a.rs", "a/b/c.rs"), ("a/b/c.rs", "a.rs")], &[]);
        check(&[("lib.rs", "a.rs"), ("a.rs", "lib.rs")], &[&["src/a.rs", "src/lib.rs"]]);
        check(&[("a/mod.rs", "b.rs"), ("b.rs", "a/mod.rs")], &[&["src/a/mod.rs", "src/b.rs"]]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let both = circles(&[("a.rs", "b.rs"), ("b.rs", "a.rs")]);
        assert_eq!(
            compare(&both, &[]),
            [
                "2 files use each other in a circle:\n    src/a.rs:1 -> src/b.rs (crate::a)\n    src/b.rs:1 -> src/a.rs (crate::a)"
            ]
        );
        let listed: &[Exception] = &[("a reason", &["src/a.rs", "src/b.rs"])];
        assert_eq!(compare(&both, listed), Vec::<String>::new());
        let larger = circles(&[("a.rs", "b.rs"), ("b.rs", "c.rs"), ("c.rs", "a.rs")]);
        assert_eq!(compare(&larger, listed).len(), 3);
        let gone = compare(&[], listed);
        assert_eq!(gone.len(), 2);
        assert!(gone[0].starts_with("src/a.rs is in no circle"), "{gone:?}");
    }
}
