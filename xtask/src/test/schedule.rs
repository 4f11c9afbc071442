//! The order of the test programs, and those that run side by side.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::programs::{self, Environment, Program};
use super::report::{Failures, Summary, Times};

/// Programs whose tests bound times: nothing runs beside them.
const ALONE: [&str; 2] = ["esker-e2e hostile", "esker-e2e pressure"];
/// Part of the names of other tests that bound times: these tests run alone too.
const TIMED: &str = "::timed_";
/// The package whose tests mostly wait for processes.
const END_TO_END: &str = "esker-e2e";
/// Number of end-to-end tests that run at once, beyond one for each processor.
const MORE_AT_ONCE: usize = 1;
/// Priority of the crates' programs beside the end-to-end tests, for `nice`.
const LOW_PRIORITY: &str = "5";

/// Runs every test program, and the tests in documentation.
pub(super) fn run_all(programs: Vec<Program>, environment: &Environment) -> Result<Summary> {
    let mut groups = Groups::default();
    for program in programs {
        groups.add(program);
    }
    // The programs that are built last have the most tests.
    groups.beside.reverse();
    let (runner, events) = Runner::new();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| -> Result<()> {
        let beside = scope.spawn(|| -> Result<()> {
            run_beside(&groups.beside, &next, environment, &runner)?;
            run_documentation(environment, &runner)
        });
        for program in &groups.end_to_end {
            let mut command = program.command(environment);
            command.args(["--skip", TIMED]);
            command.args(threads(std::env::var_os("RUST_TEST_THREADS").is_some()));
            runner.run(&program.name, &mut command, Output::Live)?;
        }
        run_beside(&groups.beside, &next, environment, &runner)?;
        beside.join().expect("runs to its end")
    })?;
    for program in &groups.alone {
        runner.run(&program.name, &mut program.command(environment), Output::Live)?;
    }
    run_timed(&groups, environment, &runner)?;
    drop(runner);
    Ok(finish(events))
}

/// The tests that bound times of programs that ran beside others, one after the other.
fn run_timed(groups: &Groups, environment: &Environment, runner: &Runner) -> Result<()> {
    for program in groups.end_to_end.iter().chain(&groups.beside) {
        if program.tests(environment, &[TIMED])?.is_empty() {
            continue;
        }
        let mut command = program.command(environment);
        command.args([TIMED, "--test-threads=1"]);
        runner.run(&format!("{}, timed", program.name), &mut command, Output::Live)?;
    }
    Ok(())
}

/// The programs of the crates. Two threads share the list when the end-to-end tests are done.
fn run_beside(
    list: &[Program],
    next: &AtomicUsize,
    environment: &Environment,
    runner: &Runner,
) -> Result<()> {
    while run_next(list, next, environment, runner)? {}
    Ok(())
}

/// Runs the next program that nobody has begun; false if there is none.
fn run_next(
    list: &[Program],
    next: &AtomicUsize,
    environment: &Environment,
    runner: &Runner,
) -> Result<bool> {
    let Some(program) = list.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(false) };
    let mut command = with_priority(LOW_PRIORITY, &program.command(environment));
    command.args(["--skip", TIMED]);
    runner.run(&program.name, &mut command, Output::AtTheEnd)?;
    Ok(true)
}

/// The tests in documentation.
fn run_documentation(environment: &Environment, runner: &Runner) -> Result<()> {
    let mut documentation = programs::cargo();
    documentation.args(["test", "--workspace", "--no-fail-fast", "--quiet", "--doc"]);
    environment.set(&mut documentation);
    runner.run("documentation", &mut with_priority(LOW_PRIORITY, &documentation), Output::AtTheEnd)
}

/// Number of end-to-end tests that run at once, unless the user has `chosen`: since they mostly wait, more than there
/// are processors.
fn threads(chosen: bool) -> Option<String> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (!chosen).then(|| format!("--test-threads={}", processors.saturating_add(MORE_AT_ONCE)))
}

#[derive(Debug, Default)]
struct Groups {
    end_to_end: Vec<Program>,
    beside: Vec<Program>,
    alone: Vec<Program>,
}

impl Groups {
    fn add(&mut self, program: Program) {
        let group = if ALONE.contains(&program.name.as_str()) {
            &mut self.alone
        } else if program.name.starts_with(END_TO_END) {
            &mut self.end_to_end
        } else {
            &mut self.beside
        };
        group.push(program);
    }
}

/// The same command under `nice`, if that exists.
fn with_priority(nice: &str, command: &Command) -> Command {
    let mut low =
        if cfg!(unix) { Command::new("nice") } else { Command::new(command.get_program()) };
    if cfg!(unix) {
        low.args(["-n", nice]).arg(command.get_program());
    }
    low.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => low.env(name, value),
            None => low.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        low.current_dir(folder);
    }
    low
}

/// The time at which a program's output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Live,
    AtTheEnd,
}

/// Runs programs and reports their events.
#[derive(Clone, Debug)]
struct Runner(Sender<Event>);

#[derive(Debug)]
enum Event {
    Line { program: String, line: String },
    Ended { program: String, took: Duration, failure: Option<String>, failures: Failures },
}

impl Runner {
    fn new() -> (Self, Receiver<Event>) {
        let (sender, events) = channel();
        (Self(sender), events)
    }

    /// Runs a program to its end and shows its output. A failure is reported, and is not an error.
    fn run(&self, name: &str, command: &mut Command, output: Output) -> Result<()> {
        let start = Instant::now();
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn().with_context(|| name.to_owned())?;
        // The command keeps the writing end of the pipe open as long as it has these.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut unshown = vec![format!("\n     Running {name}")];
        let mut failures = Failures::default();
        for line in BufReader::new(reader).split(b'\n') {
            if output == Output::Live {
                show(&std::mem::take(&mut unshown));
            }
            let line = String::from_utf8_lossy(&line?).into_owned();
            if line.starts_with("test ") {
                self.report(Event::Line { program: name.to_owned(), line: line.clone() });
            }
            failures.add(&line);
            unshown.push(line);
        }
        show(&unshown);
        let status = child.wait()?;
        let failure = (!status.success()).then(|| status.to_string());
        let (program, took) = (name.to_owned(), start.elapsed());
        self.report(Event::Ended { program, took, failure, failures });
        Ok(())
    }

    fn report(&self, event: Event) {
        self.0.send(event).expect("the receiver is kept until all programs ended");
    }
}

/// Adds up the results, and shows the slowest tests, the failed ones and the failed programs.
fn finish(events: Receiver<Event>) -> Summary {
    let (mut summary, mut times) = (Summary::default(), Times::default());
    let (mut outputs, mut failed) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Line { program, line } => {
                summary.add(&line);
                times.add_line(&program, &line);
            }
            Event::Ended { program, took, failure, failures } => {
                times.add_program(&program, took);
                outputs.extend(failures.into_texts(&program));
                failed.extend(failure.map(|status| format!("{program}: {status}")));
            }
        }
    }
    show(&[times.to_string()]);
    show(&outputs);
    if !failed.is_empty() {
        show(&["failed programs:".to_owned()]);
        show(&failed);
    }
    summary.success = failed.is_empty();
    summary
}

/// Writes lines at once.
#[expect(clippy::print_stdout, reason = "the tests' own output is passed on")]
fn show(lines: &[String]) {
    if !lines.is_empty() {
        println!("{}", lines.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn results_are_added_up_and_a_failed_program_is_noted() {
        let (runner, events) = Runner::new();
        let passed =
            "echo 'test a ... ok <0.001s>'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        runner.run("first", &mut shell(passed), Output::Live).unwrap();
        let mut second = with_priority(LOW_PRIORITY, &shell("exit 3"));
        runner.run("second", &mut second, Output::AtTheEnd).unwrap();
        drop(runner);
        let summary = finish(events);
        assert_eq!((summary.passed, summary.programs, summary.success), (1, 1, false));
    }

    #[test]
    fn a_program_that_does_not_start_is_an_error() {
        let mut command = Command::new("/no/such/program");
        let (runner, _events) = Runner::new();
        let error = runner.run("none", &mut command, Output::Live).unwrap_err();
        assert_eq!(error.to_string(), "none");
    }

    #[test]
    fn the_user_may_choose_how_many_tests_run_at_once() {
        assert_eq!(threads(true), None);
        let number = threads(false).unwrap();
        let number: usize = number.strip_prefix("--test-threads=").unwrap().parse().unwrap();
        assert!(number > MORE_AT_ONCE);
    }

    #[test]
    fn two_threads_run_each_program_once() {
        let folder = std::env::temp_dir();
        let list: Vec<Program> = (0..20)
            .map(|n| Program { name: n.to_string(), file: "true".into(), folder: folder.clone() })
            .collect();
        let (runner, events) = Runner::new();
        let next = AtomicUsize::new(0);
        let environment = Environment::default();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| run_beside(&list, &next, &environment, &runner).unwrap());
            }
        });
        drop(runner);
        let mut ended: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                Event::Ended { program, .. } => Some(program),
                Event::Line { .. } => None,
            })
            .collect();
        ended.sort_by_key(|name| name.parse::<usize>().unwrap());
        assert_eq!(ended, list.iter().map(|program| program.name.clone()).collect::<Vec<_>>());
    }

    #[test]
    fn programs_with_bounds_of_time_run_alone() {
        let mut groups = Groups::default();
        for name in ["esker-e2e hostile", "esker-rpc", "esker-e2e it", "esker-rpc it"] {
            groups.add(Program { name: name.to_owned(), file: "f".into(), folder: "/".into() });
        }
        let names = |list: &[Program]| list.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&groups.alone), ["esker-e2e hostile"]);
        assert_eq!(names(&groups.end_to_end), ["esker-e2e it"]);
        assert_eq!(names(&groups.beside), ["esker-rpc", "esker-rpc it"]);
    }
}
