//! `esker network run`: all validators and followers of a network of `esker network new`, as processes of this machine,
//! for trying it out.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use esker_settings::exit_code;
use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use super::member::{MEMBER_ARGUMENT, STOP_WITHIN};
use super::ports::{Member, MemberError, PortTaken};
use super::{CONFIG_FILE, MAX_VALIDATORS, NodeKind, NodeName};
use crate::signals::{REPEATED_WITHIN, Request, Signals};

/// Between two looks at the processes.
const LOOK: Duration = Duration::from_millis(50);

/// Most bytes of a line that is passed on at once.
const MAX_LINE: u64 = 64 << 10;

/// The reason why a network does not run, or has ended.
#[derive(Debug, Error)]
pub enum RunNetworkError {
    /// The folder has no validators.
    #[error(
        "no {CONFIG_FILE} in {}: make the network with `esker network new`",
        .0.display()
    )]
    NoValidator(PathBuf),
    /// The configuration of a node is none.
    #[error("{name}: {reason}")]
    Config {
        /// Which.
        name: NodeName,
        /// The fault.
        reason: MemberError,
    },
    /// Another program has a port of the network.
    #[error(transparent)]
    PortTaken(#[from] PortTaken),
    /// A process can't be started.
    #[error("can't start {name}: {error}")]
    Start {
        /// Which.
        name: NodeName,
        /// The system's error.
        error: io::Error,
    },
    /// Signals can't be listened to.
    #[error("can't start: {0}")]
    Runtime(io::Error),
    /// All ended by themselves.
    #[error("all validators and followers have ended")]
    AllEnded,
    /// Some did not stop, or with a failure.
    #[error("{name} ended with {status}")]
    Failed {
        /// Which.
        name: NodeName,
        /// As the system says.
        status: ExitStatus,
    },
}

impl RunNetworkError {
    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NoValidator(_) | Self::Config { .. } => exit_code::CONFIG,
            Self::PortTaken(_) => exit_code::PORT_IN_USE,
            Self::Start { .. } | Self::Runtime(_) | Self::AllEnded | Self::Failed { .. } => {
                exit_code::FAILURE
            }
        }
    }
}

/// A process.
struct Process {
    name: NodeName,
    child: Child,
    ended: Option<ExitStatus>,
    /// Open as long as this process runs.
    _input: Option<ChildStdin>,
}

/// Starts the nodes of a folder and passes their output on, with their numbers before it, until a signal; then
/// stops them. One that ends by itself does not end the others. When all that run are healthy, it prints where they are. No
/// node starts while another program has a port of one.
///
/// # Errors
/// See [`RunNetworkError`]. No process is left.
pub fn run_network(folder: &Path) -> Result<(), RunNetworkError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunNetworkError::Runtime)?;
    runtime.block_on(async {
        let mut signals = Signals::listen().map_err(RunNetworkError::Runtime)?;
        let members = members(folder)?;
        members.iter().try_for_each(Member::check_ports)?;
        let mut processes = Processes(Vec::new());
        processes.start(&members)?;
        processes.watch(&members, &mut signals).await?;
        processes.stop(&mut signals).await
    })
}

/// All processes; those that run are killed on drop.
struct Processes(Vec<Process>);

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Processes {
    /// Kills those that run.
    fn kill(&mut self) {
        for process in self.0.iter_mut().filter(|process| process.ended.is_none()) {
            // It may have ended a moment ago.
            let _killed = process.child.kill();
            process.ended = process.child.wait().ok();
        }
    }

    fn start(&mut self, members: &[Member]) -> Result<(), RunNetworkError> {
        for Member { name, file, .. } in members {
            let name = *name;
            let failed = |error| RunNetworkError::Start { name, error };
            self.0.push(start(name, file).map_err(failed)?);
        }
        Ok(())
    }

    /// Says when the nodes are ready, and waits for a signal.
    async fn watch(
        &mut self,
        members: &[Member],
        signals: &mut Signals,
    ) -> Result<(), RunNetworkError> {
        let mut waiting: Option<Vec<&Member>> = Some(members.iter().collect());
        loop {
            tokio::select! {
                request = signals.next() => if request == Request::Stop { return Ok(()) },
                () = tokio::time::sleep(LOOK) => {}
            }
            if self.is_over() {
                return Err(RunNetworkError::AllEnded);
            }
            let Some(members_left) = &mut waiting else { continue };
            if let Some(first) = members_left.first() {
                if self.runs(first.name) && !first.is_healthy().await {
                    continue;
                }
                members_left.remove(0);
                continue;
            }
            waiting = None;
            self.print_ready(members);
        }
    }

    /// Whether the node has not ended.
    fn runs(&self, name: NodeName) -> bool {
        self.0.iter().any(|process| process.name == name && process.ended.is_none())
    }

    /// Prints where the nodes are that run.
    fn print_ready(&self, members: &[Member]) {
        let running: Vec<_> = members.iter().filter(|member| self.runs(member.name)).collect();
        let mut text = String::from("\nThe network is ready. Requests go to\n\n");
        for member in running {
            text.push_str(&format!("  {:<13} {}\n", member.name.to_string(), member.url()));
        }
        text.push_str("\nCtrl-C stops it.\n");
        let mut screen = io::stdout().lock();
        // Nobody may read it any more.
        let _written = screen.write_all(text.as_bytes()).and_then(|()| screen.flush());
    }

    /// Stops the nodes; kills them at a second signal, or after a minute.
    async fn stop(mut self, signals: &mut Signals) -> Result<(), RunNetworkError> {
        for process in self.0.iter().filter(|process| process.ended.is_none()) {
            process.terminate();
        }
        let begun = Instant::now();
        let deadline = begun + STOP_WITHIN;
        while !self.is_over() {
            let is_urgent = tokio::select! {
                request = signals.next() => {
                    request == Request::Stop && begun.elapsed() > REPEATED_WITHIN
                }
                () = tokio::time::sleep(LOOK) => Instant::now() >= deadline,
            };
            if is_urgent {
                self.kill();
            }
        }
        let failed = self.0.iter().find_map(|process| {
            let status = process.ended.filter(|status| !status.success())?;
            Some(RunNetworkError::Failed { name: process.name, status })
        });
        failed.map_or(Ok(()), Err)
    }

    /// Notes which have ended; whether all have.
    fn is_over(&mut self) -> bool {
        for process in self.0.iter_mut().filter(|process| process.ended.is_none()) {
            // A process that can't be asked counts as running.
            if let Ok(Some(status)) = process.child.try_wait() {
                let kind = process.name.kind.text();
                print_line(&process.name.prefix(), format!("{kind} ended: {status}\n").as_bytes());
                process.ended = Some(status);
            }
        }
        self.0.iter().all(|process| process.ended.is_some())
    }
}

impl Process {
    fn terminate(&self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            // It may have ended a moment ago; its ID stays its own until it is waited for.
            let _sent = kill_process(id, Signal::TERM);
        }
    }
}

/// The nodes of a folder, validators first.
fn members(folder: &Path) -> Result<Vec<Member>, RunNetworkError> {
    let mut members = Vec::new();
    for kind in [NodeKind::Validator, NodeKind::Follower] {
        for number in 1..=MAX_VALIDATORS {
            let name = NodeName { kind, number };
            let file = name.folder(folder).join(CONFIG_FILE);
            if !file.is_file() {
                break;
            }
            let member = Member::read(name, file);
            members.push(member.map_err(|reason| RunNetworkError::Config { name, reason })?);
        }
        if members.is_empty() {
            let first = NodeName { kind, number: 1 };
            return Err(RunNetworkError::NoValidator(first.folder(folder)));
        }
    }
    Ok(members)
}

/// Starts a node in a process group of its own: Ctrl-C reaches this process alone, which stops the nodes. Its input is a
/// pipe that closes when this process ends, however it does.
fn start(name: NodeName, config: &Path) -> io::Result<Process> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([MEMBER_ARGUMENT, "node", "--config"])
        .arg(config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let input = child.stdin.take();
    let process = Process { name, child, ended: None, _input: input };
    if let Some(stdout) = stdout {
        pass_on(name, stdout)?;
    }
    if let Some(stderr) = stderr {
        pass_on(name, stderr)?;
    }
    Ok(process)
}

/// Passes a process's lines on until it ends.
fn pass_on(name: NodeName, output: impl Read + Send + 'static) -> io::Result<()> {
    let prefix = name.prefix();
    let thread_name = format!("output-{prefix}");
    let run = move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while let Ok(1..) = output.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            print_line(&prefix, &line);
            line.clear();
        }
    };
    // It ends with the process whose output it reads.
    thread::Builder::new().name(thread_name).spawn(run).map(|_thread| ())
}

fn print_line(prefix: &str, line: &[u8]) {
    let mut screen = io::stdout().lock();
    let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
    // Nobody may read it any more: the nodes run all the same.
    let _written = write!(screen, "{prefix} | ")
        .and_then(|()| screen.write_all(line))
        .and_then(|()| screen.write_all(end))
        .and_then(|()| screen.flush());
}
