//! The files of the page: sizes, and what a page under its policy can't have.

#[path = "../build/bundle.rs"]
mod bundle;

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

/// A bundle of modules, by path and content.
fn bundled(modules: &[(&str, &str)]) -> Result<String, String> {
    let modules = modules.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned()));
    bundle::bundle(&modules.collect(), "a.js")
}

#[test]
fn modules_become_functions_that_run_once() {
    let script = bundled(&[
        (
            "a.js",
            "import { b as one, Late } from './f/b.js';\nconst view = () => import('./f/c.js').then(one);\n",
        ),
        ("f/b.js", "export const b = 1;\nexport class Late {}\nexport async function f(x) {\n}\n"),
        ("f/c.js", "import { view } from '../a.js';\n"),
    ]);
    let script = script.unwrap();
    let (_, modules) = script.split_once("const __0").unwrap();
    assert_eq!(
        modules,
        " = __module(() => {\nconst { b: one, Late } = __1();\nconst view = () => __load(__2).then(one);\nreturn {  };\n});\n\
         const __1 = __module(() => {\nconst b = 1;\nclass Late {}\nasync function f(x) {\n}\nreturn { b, Late, f };\n});\n\
         const __2 = __module(() => {\nconst { view } = __0();\nreturn {  };\n});\n__0();\n"
    );
}

#[test]
fn other_forms_of_modules_are_refused() {
    for (line, fault) in [
        (
            "import x from './b.js';",
            "a.js: not a form that the bundle has: import x from './b.js';",
        ),
        ("import './b.js';", "not a form"),
        ("export default 1;", "not a form"),
        ("export let x = 1;", "not a form"),
        ("export { x };", "not a form"),
        ("export const { x } = y;", "not a form"),
        ("import('./b.js' + x);", "not a form"),
        ("import { x } from './none.js';", "a.js imports ./none.js, which is not there"),
        ("const x = import('./none.js');", "a.js imports ./none.js, which is not there"),
        ("import { x } from './a.js';", "a.js import each other"),
        ("const __1 = 1;", "a.js: names with two underscores are those of the bundle"),
    ] {
        let error = bundled(&[("a.js", line), ("b.js", "export const x = 1;")]).unwrap_err();
        assert!(error.contains(fault), "{line}: {error}");
    }
    assert_eq!(bundled(&[]).unwrap_err(), "no module a.js");
    let circle = [("a.js", "import { b } from './b.js';"), ("b.js", "import { a } from './a.js';")];
    assert_eq!(bundled(&circle).unwrap_err(), "a.js, b.js import each other");
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
