//! A node as a process of its own.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use esker_client::{RpcClient, XvmClient};
use serde_json::Value;
use tempfile::TempDir;

use crate::until::{PATIENCE, until_within};

/// What a node is started with.
#[derive(Debug)]
pub struct NodeBuilder {
    program: PathBuf,
    /// None: `esker dev`.
    network: Option<OsString>,
    config: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    is_temporary: bool,
    extra: Vec<OsString>,
    /// Limit of open files; none: the one of the tests.
    open_files: Option<u32>,
    env: Vec<(OsString, OsString)>,
}

impl NodeBuilder {
    /// A node of the local network with the defaults of `esker node`.
    ///
    /// `program` is the binary: integration tests know it as `env!("CARGO_BIN_EXE_esker-e2e-node")`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            network: Some("local".into()),
            config: None,
            data_dir: None,
            is_temporary: false,
            extra: Vec::new(),
            open_files: None,
            env: Vec::new(),
        }
    }

    /// A network preset, or the path of a network file.
    pub fn network(mut self, network: impl Into<OsString>) -> Self {
        self.network = Some(network.into());
        self
    }

    /// `esker dev` in place of `esker node`.
    pub fn dev(mut self) -> Self {
        self.network = None;
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

    /// Starts the process and waits until it serves.
    pub fn start(self) -> Result<Node> {
        self.spawn()?.wait()
    }

    /// Starts the process.
    pub fn spawn(self) -> Result<StartingNode> {
        let scratch = tempfile::tempdir()?;
        let data_dir = self.data_dir.unwrap_or_else(|| scratch.path().join("data"));
        std::fs::create_dir_all(&data_dir)?;
        let ready_file = scratch.path().join("ready.json");
        let log = scratch.path().join("output.txt");
        let mut command = match self.open_files {
            None => Command::new(&self.program),
            Some(limit) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\""));
                shell.arg(&self.program);
                shell
            }
        };
        match &self.network {
            Some(network) => command.args(["node", "--network"]).arg(network),
            None => command.args(["dev", "--evm-port", "0"]),
        };
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.args(["--http-port", "0"]).arg("--ready-file").arg(&ready_file);
        if !self.is_temporary {
            command.arg("--data-dir").arg(&data_dir);
        }
        command.args(&self.extra);
        // The node reads settings from variables of its own: what is set for the tests is not for it.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ESKER_") {
                command.env_remove(name);
            }
        }
        command.envs(self.env);
        let output = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child =
            command.spawn().with_context(|| format!("starting {}", self.program.display()))?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(StartingNode { node: Node { child, address, data_dir, log, scratch }, ready_file })
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
    pub fn wait(self) -> Result<Node> {
        self.wait_within(PATIENCE)
    }

    /// As [`Self::wait`], for a start that takes long.
    pub fn wait_within(mut self, patience: Duration) -> Result<Node> {
        self.node.address = self.node.wait_ready(&self.ready_file, patience)?;
        Ok(self.node)
    }

    /// What it has written to its outputs.
    pub fn output(&self) -> String {
        self.node.output()
    }

    /// As [`Node::kill`].
    pub fn kill(self) -> Result<()> {
        self.node.kill()
    }

    /// As [`Node::stop`].
    pub fn stop(self) -> Result<ExitStatus> {
        self.node.stop()
    }
}

/// A running node; killed when dropped.
#[derive(Debug)]
pub struct Node {
    child: Child,
    address: SocketAddr,
    data_dir: PathBuf,
    log: PathBuf,
    scratch: TempDir,
}

impl Node {
    /// Where it listens.
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

    /// Its data folder.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// A folder of the test's own that goes with the node.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// A client of the whole node.
    pub fn rpc(&self) -> RpcClient {
        RpcClient::new(self.address)
    }

    /// A client of the X-Chain.
    pub fn x(&self) -> XvmClient {
        XvmClient::new(self.address, "X")
    }

    /// A client of an asset-VM chain, by alias or ID.
    pub fn chain(&self, alias_or_id: &str) -> XvmClient {
        XvmClient::new(self.address, alias_or_id)
    }

    /// What it has written to its outputs.
    pub fn output(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// `kill -9`: nothing of the process runs any more when this returns.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to stop (SIGTERM) and waits for the end.
    pub fn stop(mut self) -> Result<ExitStatus> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status()?;
        if !sent.success() {
            bail!("kill -TERM {pid}: {sent}");
        }
        Ok(self.child.wait()?)
    }

    /// Waits for the ready file, which the node writes at once with all of its content.
    fn wait_ready(&mut self, ready_file: &Path, patience: Duration) -> Result<SocketAddr> {
        let ready = until_within("the node is ready", patience, || {
            if let Ok(text) = std::fs::read_to_string(ready_file)
                && let Ok(value) = serde_json::from_str::<Value>(&text)
            {
                return Some(Ok(value));
            }
            match self.child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => Some(Err(format!("the node ended: {status}"))),
                Err(e) => Some(Err(e.to_string())),
            }
        });
        match ready {
            Ok(value) => http_address(&value).with_context(|| format!("no address in {value}")),
            Err(why) => bail!("{why}\n{}", self.output()),
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
