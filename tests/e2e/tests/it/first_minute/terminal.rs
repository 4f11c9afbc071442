//! Programs of a reader: those that end, and those that keep running in a terminal of their own.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use esker_e2e::until::until_within;

/// Lines of a terminal that a message has.
const LAST_LINES: usize = 40;

/// The outcome of a program that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) errors: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}{}", self.status, self.out, self.errors)
    }
}

/// Sends a signal to a process and all that it has started in its group.
fn signal_group(leader: u32, name: &str) {
    let group = format!("-{leader}");
    // They may have ended.
    let _ended = Command::new("kill").args([name, "--", &group]).stderr(Stdio::null()).status();
}

/// Runs a program to its end. One that does not end in time is killed, with all that it has started.
pub(super) fn run(mut command: Command, what: &str, patience: Duration) -> Ended {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let leader = child.id();
    let errors = thread::spawn(move || read_to_end(errors));
    let out = thread::spawn(move || read_to_end(out));
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait()));
    let status = ended.recv_timeout(patience);
    if status.is_err() {
        signal_group(leader, "-KILL");
    }
    let (out, errors) = (out.join().unwrap(), errors.join().unwrap());
    match status {
        Ok(status) => Ended { status: status.unwrap(), out, errors },
        Err(_) => panic!("{what}: no end within {patience:?}\n{out}{errors}"),
    }
}

fn read_to_end(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A program that keeps running. It is killed when this is dropped.
pub(super) struct Terminal {
    what: String,
    child: Child,
    lines: Receiver<String>,
}

impl Terminal {
    pub(super) fn start(mut command: Command, what: &str) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // Nobody waits for a line any more, and the program goes on.
                let _unread = sender.send(line);
            }
        });
        Self { what: what.to_owned(), child, lines }
    }

    /// Waits until a text is on the screen.
    pub(super) fn wait_for(&self, text: &str, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut shown = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(text) => return,
                Ok(line) => shown.push(line),
                Err(error) => {
                    let last = &shown[shown.len().saturating_sub(LAST_LINES)..];
                    panic!("{}: no {text:?} ({error}) in\n{}", self.what, last.join("\n"))
                }
            }
        }
    }

    /// The program still runs.
    pub(super) fn check_runs(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "{}: it has ended: {ended:?}", self.what);
    }

    /// Stops the program as Ctrl-C does: it ends with success.
    pub(super) fn stop(mut self, patience: Duration) {
        self.check_runs();
        signal_group(self.child.id(), "-INT");
        let what = format!("{}: it ends after Ctrl-C", self.what);
        let status = until_within(&what, patience, || self.child.try_wait().unwrap());
        let last: Vec<_> = self.lines.try_iter().collect();
        let last = &last[last.len().saturating_sub(LAST_LINES)..];
        assert!(status.success(), "{}: {status}\n{}", self.what, last.join("\n"));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal_group(self.child.id(), "-KILL");
            let _status = self.child.wait();
        }
    }
}
