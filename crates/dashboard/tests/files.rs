//! The files of the page: sizes, and what a page under its policy can't have.

use std::io::Read as _;

use esker_dashboard::{FILES, File, INDEX};
use flate2::read::GzDecoder;

/// Most bytes of all files, as they are and compressed.
const MAX_BYTES: usize = 200_000;
const MAX_COMPRESSED: usize = 70_000;

fn content(file: &File) -> String {
    let mut content = String::new();
    GzDecoder::new(file.gzip).read_to_string(&mut content).expect("a text");
    content
}

#[test]
fn the_page_is_small() {
    let bytes: usize = FILES.iter().map(|file| file.length).sum();
    let compressed: usize = FILES.iter().map(|file| file.gzip.len()).sum();
    assert!(bytes < MAX_BYTES, "{bytes} bytes");
    assert!(compressed < MAX_COMPRESSED, "{compressed} bytes compressed");
}

#[test]
fn lengths_and_tags_are_those_of_the_contents() {
    for file in FILES {
        assert_eq!(content(file).len(), file.length, "{}", file.path);
        let others = FILES.iter().filter(|other| other.path != file.path);
        let same = others.filter(|other| other.etag == file.etag).map(|other| other.path);
        assert_eq!(same.collect::<Vec<_>>(), [""; 0], "the tag of {}", file.path);
    }
}

#[test]
fn the_files_that_the_page_names_are_there() {
    let index = FILES.iter().find(|file| file.path == INDEX).expect("the page");
    let text = content(index);
    let named: Vec<_> = text.split("\"./dashboard/").skip(1).collect();
    assert!(!named.is_empty(), "the page names no file");
    for rest in named {
        let path = rest.split('"').next().unwrap_or_default();
        assert!(FILES.iter().any(|file| file.path == path), "{path} is not there");
    }
}

#[test]
fn modules_import_files_that_are_there() {
    for file in FILES.iter().filter(|file| file.path.ends_with(".js")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for rest in content(file).split(" from '").skip(1) {
            let named = rest.split('\'').next().unwrap_or_default();
            let path = joined(folder, named);
            assert!(FILES.iter().any(|file| file.path == path), "{} imports {named}", file.path);
        }
    }
}

/// The path that a module in this folder means.
fn joined(folder: &str, named: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in named.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
    for file in FILES {
        let text = content(file);
        for refused in [
            "eval(",
            "new Function",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
        ] {
            assert!(!text.contains(refused), "{} has {refused}", file.path);
        }
        if file.path.ends_with(".html") {
            for refused in [
                "style=",
                "onclick=",
                "onload=",
                "<style",
                "src=\"http",
                "href=\"http",
                "javascript:",
            ] {
                assert!(!text.contains(refused), "{} has {refused}", file.path);
            }
            let scripts = text.matches("<script").count();
            assert_eq!(
                text.matches("<script type=\"module\" src=").count(),
                scripts,
                "{}",
                file.path
            );
        }
    }
}
