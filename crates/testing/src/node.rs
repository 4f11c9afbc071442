//! A node as a process of its own.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use esker_client::{CallError, EvmClient, RpcClient, XvmClient};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::error::Error;
use crate::log;
use crate::until::{PATIENCE, PAUSE};

/// Time that a node may take to stop, its last writes included, before that is an error.
const STOP_WITHIN: Duration = Duration::from_secs(120);
/// The same for one that did not serve in time, before it is killed.
const STOP_LATE_WITHIN: Duration = Duration::from_secs(10);

/// The arguments with which a node is started.
#[derive(Debug)]
pub struct NodeBuilder {
    program: PathBuf,
    kind: Kind,
    config: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    is_temporary: bool,
    http_port: u16,
    evm_port: u16,
    extra: Vec<OsString>,
    /// Limit of open files; none: the one of the tests.
    open_files: Option<u32>,
    env: Vec<(OsString, OsString)>,
    log_file: Option<PathBuf>,
    ends_with_us: bool,
}

/// What the node runs.
#[derive(Debug)]
enum Kind {
    /// `esker node`, of a network.
    Network(OsString),
    /// `esker dev`.
    Dev,
    /// `esker evm`.
    Evm,
}

impl NodeBuilder {
    /// A node of the local network with the defaults of `esker node`.
    ///
    /// `program` is the binary: integration tests of its package know it as `env!("CARGO_BIN_EXE_..")`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            kind: Kind::Network("local".into()),
            config: None,
            data_dir: None,
            is_temporary: false,
            http_port: 0,
            evm_port: 0,
            extra: Vec::new(),
            open_files: None,
            env: Vec::new(),
            log_file: None,
            ends_with_us: false,
        }
    }

    /// A network preset, or the path of a network file.
    pub fn network(mut self, network: impl Into<OsString>) -> Self {
        self.kind = Kind::Network(network.into());
        self
    }

    /// `esker dev` in place of `esker node`.
    pub fn dev(mut self) -> Self {
        self.kind = Kind::Dev;
        self
    }

    /// `esker evm` in place of `esker node`. Its one port is [`Self::evm_port`].
    pub fn evm(mut self) -> Self {
        self.kind = Kind::Evm;
        self
    }

    /// A configuration file.
    pub fn config(mut self, file: impl Into<PathBuf>) -> Self {
        self.config = Some(file.into());
        self
    }

    /// A data folder that outlives the node; a temporary one otherwise.
    pub fn data_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(folder.into());
        self
    }

    /// With `esker dev`: the data folder that the node makes for itself, where no commit waits for the disk.
    pub fn temporary(mut self) -> Self {
        self.is_temporary = true;
        self
    }

    /// The port of HTTP; a free one otherwise.
    pub fn http_port(mut self, port: u16) -> Self {
        self.http_port = port;
        self
    }

    /// With `esker dev` and `esker evm`: the port that has the chain's JSON-RPC at `/`; a free one otherwise.
    pub fn evm_port(mut self, port: u16) -> Self {
        self.evm_port = port;
        self
    }

    /// A further argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.extra.push(arg.into());
        self
    }

    /// Further arguments.
    pub fn args(self, args: &[&str]) -> Self {
        args.iter().fold(self, |node, arg| node.arg(arg))
    }

    /// A limit of open files for the process, which it can't raise.
    pub fn open_files(mut self, limit: u32) -> Self {
        self.open_files = Some(limit);
        self
    }

    /// A variable of its environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A file for its outputs that outlives the node; a temporary one otherwise.
    pub fn log_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.log_file = Some(file.into());
        self
    }

    /// The node stops when this process ends, also if it is killed.
    pub fn ends_with_us(mut self) -> Self {
        self.ends_with_us = true;
        self
    }

    /// Starts the process and waits until it serves.
    pub fn start(self) -> Result<Node, Error> {
        self.spawn()?.wait()
    }

    /// Starts the process.
    pub fn spawn(self) -> Result<StartingNode, Error> {
        let temporary = std::env::temp_dir();
        let scratch =
            tempfile::tempdir().map_err(|error| Error::File { path: temporary, error })?;
        let data_dir = self.data_dir.clone().unwrap_or_else(|| scratch.path().join("data"));
        let made = std::fs::create_dir_all(&data_dir);
        made.map_err(|error| Error::File { path: data_dir.clone(), error })?;
        let ready_file = scratch.path().join("ready.json");
        let log = self.log_file.clone().unwrap_or_else(|| scratch.path().join("output.txt"));
        let files =
            File::create(&log).and_then(|file| Ok((file.try_clone()?, file, File::open(&log)?)));
        let (stdout, stderr, log) = files.map_err(|error| Error::File { path: log, error })?;
        let mut command = self.command(&ready_file, &data_dir);
        command.stdin(if self.ends_with_us { Stdio::piped() } else { Stdio::null() });
        command.stdout(stdout).stderr(stderr);
        let child = command.spawn().map_err(|error| {
            let program = self.program.display().to_string();
            Error::Spawn { program, error }
        })?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let ready = Value::Null;
        Ok(StartingNode {
            node: Node { child, address, ready, data_dir, log, scratch },
            ready_file,
        })
    }

    fn command(&self, ready_file: &Path, data_dir: &Path) -> Command {
        let mut command = match self.open_files {
            None => Command::new(&self.program),
            Some(limit) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\""));
                shell.arg(&self.program);
                shell
            }
        };
        let evm_port = self.evm_port.to_string();
        match &self.kind {
            Kind::Network(network) => command.args(["node", "--network"]).arg(network),
            Kind::Dev => command.args(["dev", "--evm-port"]).arg(evm_port),
            Kind::Evm => command.args(["evm", "--evm-port"]).arg(evm_port),
        };
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        if !matches!(self.kind, Kind::Evm) {
            command.arg("--http-port").arg(self.http_port.to_string());
        }
        command.arg("--ready-file").arg(ready_file);
        if !self.is_temporary {
            command.arg("--data-dir").arg(data_dir);
        }
        if self.ends_with_us {
            command.arg("--stop-with-input");
        }
        command.args(&self.extra);
        // The node reads settings from variables of its own: what is set for the tests is not for it.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ESKER_") {
                command.env_remove(name);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A node that may not serve yet; killed when dropped.
#[derive(Debug)]
pub struct StartingNode {
    node: Node,
    ready_file: PathBuf,
}

impl StartingNode {
    /// Waits until it serves.
    pub fn wait(self) -> Result<Node, Error> {
        self.wait_within(PATIENCE)
    }

    /// Like [`Self::wait`], for a start that takes long. A node that is late is asked to stop (SIGTERM), so that it
    /// leaves no temporary folder.
    pub fn wait_within(mut self, patience: Duration) -> Result<Node, Error> {
        let ready = self.node.wait_ready(&self.ready_file, patience).inspect_err(|_| {
            // It is killed when it is dropped.
            let _stopped = self.node.stop_within(STOP_LATE_WITHIN);
        })?;
        let address = http_address(&ready).ok_or_else(|| Error::ReadyFile(ready.to_string()))?;
        self.node.address = address;
        self.node.ready = ready;
        Ok(self.node)
    }

    /// The text that it has written to its outputs.
    pub fn output(&self) -> String {
        self.node.output()
    }

    /// Like [`Node::kill`].
    pub fn kill(self) -> Result<(), Error> {
        self.node.kill()
    }

    /// Like [`Node::stop`].
    pub fn stop(self) -> Result<ExitStatus, Error> {
        self.node.stop()
    }
}

/// A running node; killed when dropped.
#[derive(Debug)]
pub struct Node {
    child: Child,
    address: SocketAddr,
    ready: Value,
    data_dir: PathBuf,
    /// Open for reading.
    log: File,
    scratch: TempDir,
}

impl Node {
    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `http://` and the address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The line that it has written to its ready file: addresses, IDs, accounts.
    pub fn ready(&self) -> &Value {
        &self.ready
    }

    /// Its data folder.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// A folder of the test's own that goes with the node.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Removes the folder of the test's own, so that nothing is left if this process can't do so later. The log stays
    /// readable.
    pub(crate) fn remove_scratch(&self) {
        // Tried again when the node is dropped.
        let _removed = std::fs::remove_dir_all(self.scratch.path());
    }

    /// A client of the whole node.
    pub fn rpc(&self) -> RpcClient {
        RpcClient::new(self.address)
    }

    /// A client of the X-Chain.
    pub fn x(&self) -> XvmClient {
        XvmClient::new(self.address, "X")
    }

    /// A client of the C-Chain.
    pub fn c(&self) -> EvmClient {
        EvmClient::new(self.address, "C")
    }

    /// A client of an asset-VM chain, by alias or ID.
    pub fn chain(&self, alias_or_id: &str) -> XvmClient {
        XvmClient::new(self.address, alias_or_id)
    }

    /// The text that it has written to its outputs.
    pub fn output(&self) -> String {
        log::all(&self.log)
    }

    /// The last lines of [`Self::output`], as errors have them.
    pub fn last_lines(&self) -> String {
        log::last_lines(&self.log)
    }

    pub(crate) fn call_error(&self, what: &str, error: CallError) -> Error {
        Error::Call { what: what.to_owned(), error, log: self.last_lines() }
    }

    /// `kill -9`: nothing of the process runs any more when this returns.
    pub fn kill(mut self) -> Result<(), Error> {
        let pid = self.pid();
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(drop).map_err(|error| Error::Process { pid, error })
    }

    /// Asks it to stop (SIGTERM) and waits for the end.
    pub fn stop(mut self) -> Result<ExitStatus, Error> {
        self.stop_within(STOP_WITHIN)
    }

    /// Like [`Self::stop`], with a deadline; an ended node has its status.
    pub(crate) fn stop_within(&mut self, patience: Duration) -> Result<ExitStatus, Error> {
        let pid = self.pid();
        let process_error = |error| Error::Process { pid, error };
        if let Some(status) = self.child.try_wait().map_err(process_error)? {
            return Ok(status);
        }
        // Its number is not given to another process before it is waited for.
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
        if let Some(process) = process {
            kill_process(process, Signal::TERM).map_err(|error| process_error(error.into()))?;
        }
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().map_err(process_error)? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                let what = "the node has stopped after SIGTERM".to_owned();
                return Err(Error::Timeout { what, patience, log: self.last_lines() });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for the ready file, which the node writes at once with all of its content.
    fn wait_ready(&mut self, ready_file: &Path, patience: Duration) -> Result<Value, Error> {
        let deadline = Instant::now() + patience;
        loop {
            // First, so that a file of a node that has ended meanwhile is not missed.
            let ended = self.child.try_wait();
            if let Ok(text) = std::fs::read_to_string(ready_file)
                && let Ok(value) = serde_json::from_str::<Value>(&text)
            {
                return Ok(value);
            }
            match ended {
                Ok(None) => {}
                Ok(Some(status)) => return Err(Error::Ended { status, log: self.last_lines() }),
                Err(error) => return Err(Error::Process { pid: self.pid(), error }),
            }
            if Instant::now() >= deadline {
                let what = "the node is ready".to_owned();
                return Err(Error::Timeout { what, patience, log: self.last_lines() });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Both fail where the process has ended already: nothing is left to do then.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The first bound address in the node's message.
fn http_address(ready: &Value) -> Option<SocketAddr> {
    let http = &ready["http"];
    let text = http.as_str().or_else(|| http[0].as_str())?;
    text.trim_start_matches("http://").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::until;

    #[test]
    fn a_late_start_is_asked_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let [text, program, stopped] =
            ["text", "program", "stopped"].map(|name| folder.path().join(name));
        let script = format!(
            "#!/bin/sh\ntrap 'touch {}; exit 0' TERM\necho waiting\nwhile true; do sleep 0.05; done\n",
            stopped.display()
        );
        std::fs::write(&text, script).unwrap();
        // By another process: a file that this one still writes, or a fork of it, can't be executed.
        let mut install = Command::new("install");
        install.args(["-m", "700"]).args([&text, &program]);
        assert!(install.status().unwrap().success());
        let starting = NodeBuilder::new(&program).dev().temporary().spawn().unwrap();
        until("the program has begun", || starting.output().contains("waiting").then_some(()));
        let late = starting.wait_within(Duration::ZERO).unwrap_err().to_string();
        let text = "timed out after 0 s: waiting until the node is ready\nwaiting";
        assert_eq!(late, text);
        assert!(stopped.exists(), "it was killed at once");
    }
}
