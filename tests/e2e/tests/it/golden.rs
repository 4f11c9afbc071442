//! Replays the recorded exchanges of tests/golden, in both naming modes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use esker_e2e::Node;
use esker_e2e::files::{profile, tests_path};
use esker_e2e::golden::{Failure, Names, Outcome, Scenario, replay};

use crate::support::local;

/// Exchanges that show how many seconds lay between two blocks when they were recorded (fee window, block gas cost),
/// which the clock decides and no rule: what stands in the expected lines.
const LINES_OF_THE_CLOCK: &[(&str, &str)] = &[("c/ws-1", "\"blockGasCost\": \"0x")];

#[test]
fn x_by_the_reference_names() {
    check("x", Names::Brand, alone);
}

#[test]
fn x_by_the_specification_names() {
    check("x", Names::Specification, alone);
}

#[test]
fn node_by_the_reference_names() {
    check("node", Names::Brand, alone);
}

#[test]
fn node_by_the_specification_names() {
    check("node", Names::Specification, alone);
}

#[test]
fn c_by_the_reference_names() {
    check("c", Names::Brand, alone);
}

#[test]
fn c_by_the_specification_names() {
    check("c", Names::Specification, alone);
}

/// The node of a file, with nothing but its genesis.
fn alone(scenario: &Scenario) -> Vec<Node> {
    vec![local().config(profile(&scenario.profile)).start().unwrap()]
}

/// Every file of a folder. `start` starts the nodes of a file; the last one gets the requests.
pub(crate) fn check(folder: &str, names: Names, start: fn(&Scenario) -> Vec<Node>) {
    let mut report = String::new();
    let mut matched = 0;
    for file in files(folder) {
        let outcome = run(&file, names, start);
        matched += outcome.matched;
        let name = name(&file);
        let mut of_the_clock = BTreeSet::new();
        for (_, part) in LINES_OF_THE_CLOCK.iter().filter(|(of, _)| *of == name) {
            of_the_clock.extend(lines_with(&file, part));
        }
        for Failure { line, text } in outcome.failures {
            if !of_the_clock.contains(&line) {
                let _ = writeln!(report, "{text}");
            }
        }
    }
    assert!(report.is_empty(), "{names:?}, {matched} exchanges match, but:\n{report}");
    assert!(matched > 0, "no exchanges in {folder}");
}

/// The expectations of a file that contain this, by number.
fn lines_with(file: &Path, part: &str) -> BTreeSet<usize> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().zip(1..);
    let found: BTreeSet<usize> = lines
        .filter(|(line, _)| line.starts_with('<') && line.contains(part))
        .map(|(_, number)| number)
        .collect();
    assert!(!found.is_empty(), "{} has no {part}", file.display());
    found
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(tests_path("golden").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|e| e == "io"))
        .collect();
    files.sort();
    files
}

/// Folder and name of a file, as in the lists.
fn name(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    format!("{}/{}", folder.to_string_lossy(), file.file_stem().unwrap().to_string_lossy())
}

/// Replays a file on fresh nodes, as it was recorded.
fn run(file: &Path, names: Names, start: fn(&Scenario) -> Vec<Node>) -> Outcome {
    let scenario = Scenario::read(file, names).unwrap();
    let nodes = start(&scenario);
    replay(&scenario, nodes.last().expect("a node of the file").address())
}
