//! The joint report of the test programs.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// Number of the slowest ones that are shown.
const SHOWN: usize = 20;
/// Number of lines that are shown of a failed test's output.
const SHOWN_LINES: usize = 60;
/// Number of characters that are shown of a line of it.
const SHOWN_CHARACTERS: usize = 2000;

/// Counts over test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
    pub(super) programs: u64,
    pub(super) success: bool,
}

impl Summary {
    /// Takes a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    pub(super) fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let counts = counts.split_once(". ").map_or("", |(_, counts)| counts);
        self.programs = self.programs.saturating_add(1);
        for part in counts.split("; ") {
            let mut words = part.split(' ');
            let number = words.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or_default();
            let total = match words.next() {
                Some("passed") => &mut self.passed,
                Some("failed") => &mut self.failed,
                Some("ignored") => &mut self.ignored,
                _ => continue,
            };
            *total = total.saturating_add(number);
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, ignored, programs, success: _ } = self;
        write!(f, "{passed} passed, {failed} failed, {ignored} ignored in {programs} test programs")
    }
}

/// The durations of tests and programs.
#[derive(Debug, Default)]
pub(super) struct Times {
    tests: Vec<(Duration, String)>,
    programs: Vec<(Duration, String)>,
}

impl Times {
    pub(super) fn add_program(&mut self, name: &str, took: Duration) {
        self.programs.push((took, name.to_owned()));
    }

    /// Takes a line such as `test paging::walks ... ok <1.234s>`.
    pub(super) fn add_line(&mut self, program: &str, line: &str) {
        let Some((name, took)) = time_of_test(line) else { return };
        self.tests.push((took, format!("{program} {name}")));
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, times) in [("tests", &self.tests), ("programs", &self.programs)] {
            let mut slowest = times.clone();
            slowest.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
            writeln!(f, "\nslowest {what}:")?;
            for (took, name) in slowest.iter().take(SHOWN) {
                writeln!(f, "{:8.1} s  {name}", took.as_secs_f64())?;
            }
        }
        Ok(())
    }
}

/// The outputs of a program's failed tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    /// Name and first lines of each test that failed, or whose panic was logged: it may have caught it.
    outputs: Vec<(String, Vec<String>)>,
    /// Names of those that failed.
    names: BTreeSet<String>,
    /// Place of the test whose output the next lines are.
    open: Option<usize>,
}

impl Failures {
    /// Takes a line of the program's output. `---- paging::walks stdout ----` begins the output of a test, and
    /// `failures:` ends the last one. Where panics are logged, they are not part of it.
    pub(super) fn add(&mut self, line: &str) {
        let name = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = name {
            self.names.insert(name.to_owned());
            self.open = Some(self.place(name));
        } else if line == "failures:" {
            self.open = None;
        } else if let Some(name) = failed_test(line) {
            self.names.insert(name.to_owned());
            self.place(name);
        } else if let Some(place) = panicked_test(line).map(|name| self.place(name)).or(self.open) {
            let lines = &mut self.outputs[place].1;
            if lines.len() < SHOWN_LINES {
                lines.push(line.chars().take(SHOWN_CHARACTERS).collect());
            }
        }
    }

    /// The place of a test.
    fn place(&mut self, name: &str) -> usize {
        let known = self.outputs.iter().position(|(known, _)| known == name);
        known.unwrap_or_else(|| {
            self.outputs.push((name.to_owned(), Vec::new()));
            self.outputs.len() - 1
        })
    }

    /// The outputs with their headings, for the end of the report.
    pub(super) fn into_texts(self, program: &str) -> Vec<String> {
        let text = |(name, lines): (String, Vec<String>)| {
            format!("failed: {program} {name}\n{}\n", lines.join("\n"))
        };
        let Self { outputs, names, open: _ } = self;
        outputs.into_iter().filter(|(name, _)| names.contains(name)).map(text).collect()
    }
}

/// The name in a line such as `test paging::walks ... FAILED <1.234s>`.
fn failed_test(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    rest.starts_with("FAILED").then_some(name)
}

/// The name in a logged panic: `.. panic: no tip thread=paging::walks place=..`.
fn panicked_test(line: &str) -> Option<&str> {
    let (_, panic) = line.split_once(" panic: ")?;
    let (_, thread) = panic.rsplit_once(" thread=")?;
    thread.split_once(" place=").map(|(name, _)| name).filter(|name| name.contains("::"))
}

fn time_of_test(line: &str) -> Option<(&str, Duration)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = rest.strip_suffix("s>")?.rsplit_once('<')?;
    Some((name, Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let mut summary = Summary::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            summary.add(line);
        }
        let want = Summary { passed: 4, failed: 2, ignored: 1, programs: 2, success: false };
        assert_eq!(summary, want);
    }

    #[test]
    fn outputs_of_failed_tests_are_found() {
        let mut failures = Failures::default();
        let many = vec!["again"; SHOWN_LINES];
        let output =
            ["test a::one ... ok", "", "failures:", "", "---- a::two stdout ----", "left: 1"];
        for line in output.into_iter().chain(["---- a::three stdout ----"]).chain(many) {
            failures.add(line);
        }
        for line in ["more", "failures:", "    a::two", "test result: FAILED"] {
            failures.add(line);
        }
        let shown = failures.into_texts("esker-rpc it");
        assert_eq!(shown[0], "failed: esker-rpc it a::two\nleft: 1\n");
        assert!(shown[1].starts_with("failed: esker-rpc it a::three\nagain\n"));
        assert_eq!((shown.len(), shown[1].lines().count()), (2, SHOWN_LINES + 1));
        assert_eq!(Failures::default().into_texts("esker-rpc"), [""; 0]);
    }

    #[test]
    fn logged_panics_are_outputs_of_their_tests() {
        let mut failures = Failures::default();
        let long = "x".repeat(2 * SHOWN_CHARACTERS);
        for line in [
            "ERROR [main] panic: not mine thread=tokio-rt-worker place=a.rs:1:2",
            &format!("ERROR [main] panic: {long} thread=a::logged place=a.rs:1:2"),
            "ERROR [main] panic: 2 of 3 thread=a::logged place=a.rs:1:2",
            "ERROR [main] panic: of the test thread=a::caught place=a.rs:1:2",
            "test a::caught ... ok <1.000s>",
            "test a::logged ... FAILED <1.000s>",
            "test a::silent ... FAILED <1.000s>",
            "---- a::logged stdout ----",
            "left: 1",
            "failures:",
        ] {
            failures.add(line);
        }
        let shown = failures.into_texts("esker-rpc it");
        assert_eq!(shown.len(), 2);
        let lines: Vec<_> = shown[0].lines().collect();
        assert_eq!(
            (lines[0], lines[1].len()),
            ("failed: esker-rpc it a::logged", SHOWN_CHARACTERS)
        );
        assert!(lines[2].contains("2 of 3") && lines[3] == "left: 1", "{lines:?}");
        assert_eq!(shown[1], "failed: esker-rpc it a::silent\n\n");
    }

    #[test]
    fn the_slowest_come_first() {
        let mut times = Times::default();
        times.add_line("esker-e2e it", "test a::quick ... ok <0.250s>");
        times.add_line("esker-e2e it", "test b::slow ... FAILED <12.500s>");
        times.add_line("esker-e2e it", "test c::left_out ... ignored");
        times.add_program("esker-e2e it", Duration::from_secs(13));
        let text = times.to_string();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).collect();
        let expected = ["    12.5 s  esker-e2e it b::slow", "     0.2 s  esker-e2e it a::quick"];
        assert_eq!(lines[..2], expected);
        assert_eq!(lines[2], "    13.0 s  esker-e2e it");
    }
}
