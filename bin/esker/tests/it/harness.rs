//! Runs the real binary and talks to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Time that a start or a block may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the binary that answers. Killed when dropped.
pub(crate) struct Esker {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The line of `--json`.
    pub(crate) ready: Value,
    /// The folder in which it makes temporary folders.
    pub(crate) temp: TempDir,
    /// It may have a usual port.
    _usual: fs::File,
}

/// Ethereum's genesis at Shanghai for the chain 9, in which one account has so many wei.
pub(crate) fn genesis_of_shanghai(account: &str, wei: &str) -> Value {
    let forks = ["homesteadBlock", "eip150Block", "eip155Block", "eip158Block", "byzantiumBlock"];
    let later = ["constantinopleBlock", "petersburgBlock", "istanbulBlock", "berlinBlock"];
    let newest = ["londonBlock", "terminalTotalDifficulty", "shanghaiTime"];
    let forks = [&forks[..], &later, &newest].concat();
    let mut config: Map<String, Value> =
        forks.into_iter().map(|fork| (fork.to_owned(), json!(0))).collect();
    config.insert("chainId".to_owned(), json!(9));
    let alloc = json!({(account.trim_start_matches("0x")): {"balance": wei}});
    json!({"config": config, "gasLimit": "0x1c9c380", "difficulty": "0x0", "alloc": alloc})
}

/// The outcome of a process.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Keeps the test of a reader's first minute, which needs the usual ports where it has no network of its own, from running at
/// the same time (`tests/e2e/tests/it/first_minute`).
pub(crate) fn usual_ports() -> fs::File {
    let lock = fs::File::create(std::env::temp_dir().join("esker-usual-ports.lock")).unwrap();
    lock.lock_shared().unwrap();
    lock
}

/// The binary, cut off from the surroundings: no settings of the developer's, no home.
pub(crate) fn command(args: &[&str], temp: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    isolate(&mut command, temp);
    command.args(args);
    command
}

/// Cuts a program off from the surroundings.
fn isolate(command: &mut Command, temp: &Path) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ESKER_") {
            command.env_remove(name);
        }
    }
    command.env_remove("ANVIL_IP_ADDR").env_remove("XDG_CACHE_HOME");
    command.env("HOME", temp).env("TMPDIR", temp).stdin(Stdio::null());
}

/// The binary under the name `anvil`, by a link in the second folder.
pub(crate) fn anvil_command(args: &[&str], (temp, link): (&Path, &Path)) -> Command {
    let program = link.join("anvil");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_esker"), &program).unwrap();
    let mut command = Command::new(program);
    isolate(&mut command, temp);
    command.args(args);
    command
}

/// The lines up to the last one of a banner, and the rest.
fn read_banner(
    mut stdout: BufReader<ChildStdout>,
    is_last: fn(&[String]) -> bool,
) -> (Vec<String>, BufReader<ChildStdout>) {
    let mut lines: Vec<String> = Vec::new();
    while !is_last(&lines) {
        let mut line = String::new();
        if stdout.read_line(&mut line).unwrap() == 0 {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    (lines, stdout)
}

/// Runs the binary to its end.
pub(crate) fn run(args: &[&str]) -> Ended {
    let temp = tempfile::tempdir().unwrap();
    run_command(command(args, temp.path()))
}

pub(crate) fn run_command(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        status: output.status,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Esker {
    /// Starts the binary on a free port and returns once it answers.
    pub(crate) fn start(args: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut node = Self::start_in(args, temp.path());
        node.temp = temp;
        node
    }

    /// Starts `esker evm`, whose only port is that of its chain.
    pub(crate) fn start_alone(args: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let all = [&["evm"], args, &["--port", "0", "--json"]].concat();
        let mut node = Self::start_with(&all, temp.path());
        node.temp = temp;
        node
    }

    /// The same with the home of a test.
    pub(crate) fn start_alone_in(args: &[&str], home: &Path) -> Self {
        Self::start_with(&[&["evm"], args, &["--port", "0", "--json"]].concat(), home)
    }

    /// Starts the binary under the name `anvil`, as launchers do; also the lines of its banner, and its standard error.
    pub(crate) fn start_anvil(args: &[&str]) -> (Self, Vec<String>, fs::File) {
        let (temp, link) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let command = anvil_command(args, (temp.path(), link.path()));
        Self::start_screen(command, temp)
    }

    /// Starts a command whose screen ends with the address where it listens; also the lines of the screen, and its
    /// standard error.
    pub(crate) fn start_screen(command: Command, temp: TempDir) -> (Self, Vec<String>, fs::File) {
        let is_last =
            |lines: &[String]| lines.last().is_some_and(|line| line.starts_with("Listening on "));
        let address =
            |lines: &[String]| lines.last()?.strip_prefix("Listening on ").map(str::to_owned);
        Self::start_tool(command, temp, is_last, address)
    }

    /// Starts `esker hardhat`.
    pub(crate) fn start_hardhat(args: &[&str]) -> (Self, Vec<String>, fs::File) {
        let temp = tempfile::tempdir().unwrap();
        let command = command(&[&["hardhat"], args].concat(), temp.path());
        let is_last = |lines: &[String]| {
            lines.iter().filter(|line| line.ends_with("WILL BE LOST.")).count() == 2
        };
        let address = |lines: &[String]| {
            let (_, url) = lines.first()?.split_once("JSON-RPC server at http://")?;
            url.strip_suffix('/').map(str::to_owned)
        };
        Self::start_tool(command, temp, is_last, address)
    }

    /// Starts a command whose banner ends with a certain line, and says where it listens.
    fn start_tool(
        mut command: Command,
        temp: TempDir,
        is_last: fn(&[String]) -> bool,
        address: fn(&[String]) -> Option<String>,
    ) -> (Self, Vec<String>, fs::File) {
        let stderr = tempfile::tempfile().unwrap();
        command.stdout(Stdio::piped()).stderr(stderr.try_clone().unwrap());
        let usual = usual_ports();
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, banner) = mpsc::channel();
        thread::spawn(move || sender.send(read_banner(stdout, is_last)));
        let Ok((lines, stdout)) = banner.recv_timeout(PATIENCE) else {
            child.kill().unwrap();
            panic!("no end of the banner within {PATIENCE:?}")
        };
        let address = address(&lines).unwrap_or_else(|| panic!("it ended: {lines:?}"));
        let ready = json!({"http": address, "evm": address});
        (Self { child, stdout, ready, temp, _usual: usual }, lines, stderr)
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The same with its temporary folders in a folder of the test's.
    pub(crate) fn start_in(args: &[&str], temp: &Path) -> Self {
        Self::start_with(&[args, &["--http-port", "0", "--json"]].concat(), temp)
    }

    fn start_with(args: &[&str], temp: &Path) -> Self {
        let usual = usual_ports();
        let mut command = command(args, temp);
        // The standard error of a test that fails is worth seeing.
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("no line of JSON but {line:?}: {error}"));
        Self { child, stdout, ready, temp: tempfile::tempdir().unwrap(), _usual: usual }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn stop(mut self, signal: &str) -> (ExitStatus, String, TempDir) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let temp = std::mem::replace(&mut self.temp, tempfile::tempdir().unwrap());
        (status, rest, temp)
    }

    /// Sends a signal again and again until the process ends.
    pub(crate) fn stop_with_many(mut self, signal: &str) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            self.signal(signal);
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
        }
        panic!("it did not end within {PATIENCE:?} of many {signal}")
    }

    /// One request; status and body.
    pub(crate) fn http(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.http_at(self.ready["http"].as_str().unwrap(), method, path, body)
    }

    /// The same at another of its addresses.
    pub(crate) fn http_at(
        &self,
        address: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// The result of a call.
    pub(crate) fn call(&self, path: &str, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (_, body) = self.http("POST", path, &request.to_string());
        let reply: Value = serde_json::from_str(&body).unwrap();
        assert!(reply["error"].is_null(), "{method}: {reply}");
        reply["result"].clone()
    }

    /// The result of a call of the C-Chain at the port that is its alone.
    pub(crate) fn evm(&self, method: &str, params: Value) -> Value {
        let reply = self.evm_reply(method, params);
        assert!(reply["error"].is_null(), "{method}: {reply}");
        reply["result"].clone()
    }

    /// The error of such a call.
    pub(crate) fn evm_error(&self, method: &str, params: Value) -> Value {
        let reply = self.evm_reply(method, params);
        assert!(reply["error"].is_object(), "{method}: {reply}");
        reply["error"].clone()
    }

    /// The text of the error of such a call.
    pub(crate) fn evm_refusal(&self, method: &str, params: Value) -> String {
        self.evm_error(method, params)["message"].as_str().unwrap().to_owned()
    }

    fn evm_reply(&self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let address = self.ready["evm"].as_str().unwrap();
        let (_, body) = self.http_at(address, "POST", "/", &request.to_string());
        serde_json::from_str(&body).unwrap()
    }

    /// The receipt of a transaction of [`Self::evm`] that is about to be included.
    pub(crate) fn receipt(&self, hash: &Value) -> Value {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let receipt = self.evm("eth_getTransactionReceipt", json!([hash]));
            if !receipt.is_null() {
                return receipt;
            }
        }
        panic!("{hash} is not included within {PATIENCE:?}")
    }

    pub(crate) fn height(&self) -> String {
        let result = self.call("/ext/bc/X", "xvm.getHeight", json!({}));
        result["height"].as_str().unwrap().to_owned()
    }
}

impl Drop for Esker {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// Names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The lines of `main.log` with this message.
pub(crate) fn logged(data: &Path, message: &str) -> Vec<Value> {
    let text = fs::read_to_string(data.join("logs/main.log")).unwrap_or_default();
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = lines.map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["message"] == message).collect()
}
