//! `cargo xtask test`: the documented test command.
//!
//! Builds all test programs, installs the client libraries meanwhile, then runs them side by side. The end-to-end tests mostly wait, so the programs of the
//! crates use the rest of the machine. Programs and tests that bound times run last and alone.

mod clients;
mod flaky;
mod programs;
mod report;
mod schedule;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

pub use self::flaky::run as run_flaky;
use self::programs::{Environment, Program};
use self::report::Summary;

/// Runs every test. With `args`, runs `cargo test --workspace` with them.
pub fn run(args: &[String]) -> Result<()> {
    let start = Instant::now();
    let summary = if args.is_empty() {
        let (environment, programs) = install_and_build()?;
        schedule::run_all(programs, &environment)?
    } else {
        run_cargo_test(args, &clients::install()?)?
    };
    eprintln!("\n{summary}; {} s", start.elapsed().as_secs());
    if !summary.success {
        bail!("tests failed");
    }
    Ok(())
}

/// Installs the client libraries, which mostly waits for registries and disks, beside the build of the test programs.
fn install_and_build() -> Result<(Environment, Vec<Program>)> {
    thread::scope(|scope| {
        let installed = scope.spawn(clients::install);
        let programs = programs::build();
        let environment = installed.join().expect("runs to its end");
        programs.and_then(|programs| Ok((environment?, programs)))
    })
}

/// Runs `cargo test --workspace` with these arguments, shows its output and counts the results.
#[expect(clippy::print_stdout, reason = "the tests' own output is passed on")]
fn run_cargo_test(args: &[String], environment: &Environment) -> Result<Summary> {
    let mut command = programs::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).args(args);
    environment.set(&mut command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("its output is a pipe")?;
    let mut summary = Summary::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        summary.add(&line);
    }
    summary.success = child.wait()?.success();
    Ok(summary)
}
