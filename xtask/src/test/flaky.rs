//! `cargo xtask flaky TIMES FILTER...`: runs chosen tests repeatedly on a busy machine, to find those that fail
//! sometimes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::install_and_build;
use super::programs::{Environment, Program};
use crate::workspace;

/// Outputs of failed runs, below the repository.
const OUTPUTS: &str = "target/flaky";

/// A test of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    program: Program,
    test: String,
}

/// The runs of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    runs: usize,
    /// The files with the output of each failed run.
    failures: Vec<PathBuf>,
    longest: Duration,
}

/// Runs the tests whose names contain one of the filters, each TIMES times. As many run at once as there are
/// processors, with as many busy threads beside them.
pub fn run(args: &[String]) -> Result<()> {
    let (times, filters) = arguments(args)?;
    let (environment, programs) = install_and_build()?;
    let mut cases = Vec::new();
    for program in &programs {
        cases.extend(cases_of(program, &environment, filters)?);
    }
    if cases.is_empty() {
        bail!("no test has a name with one of these: {}", filters.join(", "));
    }
    let outcomes = run_beside_busy_threads(&cases, times, &environment)?;
    eprintln!("{}", table(&cases, &outcomes));
    match outcomes.iter().filter(|outcome| !outcome.failures.is_empty()).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} tests failed at times", cases.len()),
    }
}

fn arguments(args: &[String]) -> Result<(usize, &[String])> {
    let usage = "cargo xtask flaky TIMES FILTER...";
    let (times, filters) = args.split_first().context(usage)?;
    let times = times.parse().ok().filter(|times| *times > 0);
    let times = times.with_context(|| format!("{usage}: TIMES is a number from 1 on"))?;
    if filters.is_empty() {
        bail!("{usage}: which tests?");
    }
    Ok((times, filters))
}

/// The tests of a program whose names contain one of the filters, without the ignored ones.
fn cases_of(program: &Program, environment: &Environment, filters: &[String]) -> Result<Vec<Case>> {
    let ignored = program.tests(environment, &["--ignored"])?;
    let chosen = program.tests(environment, &[])?;
    let chosen = chosen.into_iter().filter(|test| !ignored.contains(test));
    let chosen = chosen.filter(|test| filters.iter().any(|filter| test.contains(filter)));
    Ok(chosen.map(|test| Case { program: program.clone(), test }).collect())
}

fn run_beside_busy_threads(
    cases: &[Case],
    times: usize,
    environment: &Environment,
) -> Result<Vec<Outcome>> {
    let folder = workspace::root().join(OUTPUTS);
    std::fs::create_dir_all(&folder)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    // Each test runs once before any runs again, so that an early end still covers all of them.
    let (next, is_done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || -> Result<Vec<(usize, Run)>> {
        let mut runs = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= times * cases.len() {
                return Ok(runs);
            }
            let (of_case, turn) = (number % cases.len(), number / cases.len());
            let case = cases.get(of_case).context("a number of a case")?;
            let output = folder.join(format!("{}-{turn}.log", case.test.replace("::", ".")));
            runs.push((of_case, run_once(case, environment, output)?));
        }
    };
    let runs = thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        let ended: Vec<_> =
            workers.into_iter().map(|worker| worker.join().expect("runs to its end")).collect();
        is_done.store(true, Ordering::Relaxed);
        ended.into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut outcomes = vec![Outcome::default(); cases.len()];
    for (number, run) in runs.into_iter().flatten() {
        let outcome = outcomes.get_mut(number).context("a number of a case")?;
        outcome.runs += 1;
        outcome.longest = outcome.longest.max(run.took);
        outcome.failures.extend(run.failure);
    }
    Ok(outcomes)
}

/// The outcome of a run: the file of its output if it failed.
struct Run {
    took: Duration,
    failure: Option<PathBuf>,
}

/// Runs a test once. Its output stays in the file if it fails.
fn run_once(case: &Case, environment: &Environment, output: PathBuf) -> Result<Run> {
    let begun = Instant::now();
    let mut command = case.program.command(environment);
    command.args(["--exact", "--nocapture", &case.test]);
    let file = std::fs::File::create(&output)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let is_good = command.status().with_context(|| case.test.clone())?.success();
    let took = begun.elapsed();
    if is_good {
        std::fs::remove_file(output)?;
        return Ok(Run { took, failure: None });
    }
    eprintln!("{} failed: {}", case.test, output.display());
    Ok(Run { took, failure: Some(output) })
}

/// A line for each test, those with most failures first.
fn table(cases: &[Case], outcomes: &[Outcome]) -> String {
    let mut rows: Vec<_> = cases.iter().zip(outcomes).collect();
    rows.sort_by_key(|(_, outcome)| std::cmp::Reverse(outcome.failures.len()));
    let mut text = "failed   runs  longest  test\n".to_owned();
    for (case, outcome) in rows {
        let Outcome { runs, failures, longest } = outcome;
        let (program, test, seconds) = (&case.program.name, &case.test, longest.as_secs_f64());
        let _ =
            writeln!(text, "{:>6} {runs:>6} {seconds:>6.1} s  {program} {test}", failures.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn texts(args: &[&str]) -> Vec<String> {
        args.iter().map(|&arg| arg.to_owned()).collect()
    }

    #[test]
    fn a_number_and_names_are_needed() {
        let args = texts(&["3", "crash", "disk"]);
        assert_eq!(arguments(&args).unwrap(), (3, &args[1..]));
        for bad in [&[][..], &["3"], &["0", "crash"], &["crash", "3"]] {
            assert!(arguments(&texts(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn tests_are_listed_run_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        let script = "#!/bin/sh\ncase \"$*\" in\n\
            *--list*--ignored*) echo 'slow::c: test' ;;\n\
            *--list*) printf 'fast::a: test\\nfast::b: test\\nslow::c: test\\n' ;;\n\
            *fast::b*) echo broken; exit 101 ;;\nesac\n";
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let name = "esker it".to_owned();
        let program = Program { name, file, folder: folder.path().to_owned() };
        let environment = Environment::default();
        let cases = cases_of(&program, &environment, &texts(&["fast", "slow"])).unwrap();
        let names: Vec<_> = cases.iter().map(|case| case.test.as_str()).collect();
        assert_eq!(names, ["fast::a", "fast::b"]);
        let outcomes = run_beside_busy_threads(&cases, 2, &environment).unwrap();
        assert_eq!(outcomes.iter().map(|outcome| outcome.runs).collect::<Vec<_>>(), [2, 2]);
        assert!(outcomes[0].failures.is_empty());
        assert_eq!(outcomes[1].failures.len(), 2);
        let kept = std::fs::read_to_string(&outcomes[1].failures[0]).unwrap();
        assert_eq!(kept, "broken\n");
        let table = table(&cases, &outcomes);
        assert!(table.lines().nth(1).unwrap().contains("fast::b"), "{table}");
    }
}
