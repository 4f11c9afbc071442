//! The packages for npm, Python and Debian, installed from their files, and run in an empty folder without a toolchain.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use xtask::packages::{DebianTool, Release, SHELL_FILES, Settings};
use xtask::workspace;

/// Time that an installation, a start or an end may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// The program is large in debug builds: it is not compressed.
const SETTINGS: Settings = Settings { time: 1_704_067_200, level: 0 };
const CHAIN_ID: &str = "0xa868";
/// Makes Node.js start the binary as a child, as older ones do.
const AS_CHILD: &str = "process.execve = undefined;\n";
const WITH_ESKER_DEV_IN_JAVASCRIPT: &str = "
    import { withNode } from 'esker-dev';
    await withNode(async (node) => console.log(await node.rpc('eth_chainId')));
";
const WITH_ESKER_DEV_IN_PYTHON: &str = "
from esker_dev import start_node
with start_node() as node:
    print(node.rpc('eth_chainId'))
";

/// An empty folder, with a folder of the programs that are on the PATH.
struct Place {
    folder: TempDir,
    programs: PathBuf,
}

impl Place {
    /// A folder with these programs alone, and the shell.
    fn new(programs: &[(&str, &Path)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("path");
        fs::create_dir(&path).unwrap();
        for (name, program) in programs.iter().copied().chain([("sh", Path::new("/bin/sh"))]) {
            symlink(program, path.join(name)).unwrap();
        }
        Self { folder, programs: path }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// A program without the surroundings of the test.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &self.programs).current_dir(self.folder.path());
        command.env("HOME", self.folder.path()).env("TMPDIR", self.folder.path());
        command
    }

    fn release(&self) -> Release {
        let components = self.path("components.json");
        fs::write(&components, r#"{"bomFormat": "CycloneDX"}"#).unwrap();
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_esker"));
        Release::read(&[(binary, components)], SETTINGS).unwrap()
    }
}

/// A node that was started through a package.
struct Started {
    launcher: Child,
    ready: Value,
}

impl Started {
    /// Starts `esker dev` and waits until it serves. The node ends with the test.
    fn new(place: &Place, mut command: Command) -> Self {
        let file = place.path("ready.json");
        command.args(["dev", "--silent", "--http-port", "0", "--evm-port", "0"]);
        command.args(["--stop-with-input", "--ready-file"]).arg(&file);
        command.process_group(0).stdin(Stdio::piped());
        let mut launcher = command.spawn().unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            let ended = launcher.try_wait().unwrap();
            if let Ok(text) = fs::read_to_string(&file) {
                return Self { launcher, ready: serde_json::from_str(&text).unwrap() };
            }
            assert!(ended.is_none(), "{command:?}: {ended:?}");
            assert!(Instant::now() < end, "{command:?}: no node within {PATIENCE:?}");
            thread::sleep(LOOK);
        }
    }

    /// The process of the node.
    fn pid(&self) -> u32 {
        self.ready["pid"].as_u64().unwrap().try_into().unwrap()
    }

    fn assert_answers(&self) {
        let address = self.ready["http"].as_str().unwrap();
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /ext/bc/C/rpc HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.contains(CHAIN_ID), "{reply}");
    }

    /// Sends a signal to the launcher, or to its whole group as a terminal does; the launcher's status, once the node is
    /// gone.
    fn end(mut self, signal: &str, is_group: bool) -> ExitStatus {
        let target = format!("{}{}", if is_group { "-" } else { "" }, self.launcher.id());
        let sent = Command::new("kill").args(["-s", signal, "--", &target]).status().unwrap();
        assert!(sent.success());
        let status = wait(&mut self.launcher, signal);
        let process = PathBuf::from(format!("/proc/{}", self.pid()));
        assert!(!process.exists(), "the node runs without its launcher");
        status
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // The node ends with its input.
        let _already_ended = self.launcher.kill();
        let _waited = self.launcher.wait();
    }
}

fn wait(child: &mut Child, what: &str) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        thread::sleep(LOOK);
    }
    let _already_ended = child.kill();
    panic!("{what}: no end within {PATIENCE:?}")
}

/// Runs a program to its end; its exit code and both outputs.
fn run(mut command: Command) -> (Option<i32>, String) {
    let mut output = tempfile::tempfile().unwrap();
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
    let status = wait(&mut command.spawn().unwrap(), &format!("{command:?}"));
    let mut text = String::new();
    std::io::Seek::rewind(&mut output).unwrap();
    output.read_to_string(&mut text).unwrap();
    (status.code(), text)
}

fn run_to_success(command: Command) -> String {
    let name = format!("{command:?}");
    let (code, output) = run(command);
    assert_eq!(code, Some(0), "{name}:\n{output}");
    output
}

/// The program that a variable of `cargo xtask test` names, or the one on the PATH.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.or_else(|| {
        let found = std::env::split_paths(&path).map(|folder| folder.join(name));
        found.into_iter().find(|file| file.is_file())
    })
}

/// The script of npm, which is installed with Node.js.
fn npm(node: &Path) -> Option<PathBuf> {
    let node = node.canonicalize().ok()?;
    let beside = node.parent()?.parent()?.join("lib/node_modules/npm/bin/npm-cli.js");
    let on_path = || program("", "npm")?.canonicalize().ok();
    Some(beside).filter(|script| script.is_file()).or_else(on_path)
}

/// A Python with pip, without the scripts of version managers around it.
fn python() -> Option<PathBuf> {
    let mut python = Command::new(program("CLIENT_TESTS_PYTHON", "python3")?);
    python.args(["-c", "import pip, sys; print(sys.executable)"]).stdin(Stdio::null());
    let output = python.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().into())
}

/// Fails where tests with other programs are required, otherwise says why they are skipped.
fn skip(why: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    assert!(!is_set("CLIENT_TESTS") && !is_set("CI"), "{why}");
    eprintln!("skipped: {why}");
}

/// Signals, exit codes and answers are the binary's, whatever starts it.
fn check(place: &Place, command: impl Fn() -> Command) {
    // The last one is a Ctrl-C: the terminal sends it to the launcher and to the node, and the launcher passes it on.
    for (signal, is_group) in [("INT", false), ("TERM", false), ("INT", true)] {
        let started = Started::new(place, command());
        started.assert_answers();
        let status = started.end(signal, is_group);
        assert_eq!(status.code(), Some(0), "{signal}: {status}");
    }
    let mut refused = command();
    refused.args(["dev", "--no-such-flag"]);
    let (code, output) = run(refused);
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("--no-such-flag"), "{output}");
}

/// Installs files in the folder without a registry.
fn npm_install(place: &Place, node: &Path, npm: &Path, files: &[PathBuf]) {
    let mut install = place.command(node);
    install.arg(npm).args(["install", "--offline", "--no-audit", "--no-fund", "--cache"]);
    install.arg(place.path("cache")).args(files);
    run_to_success(install);
}

/// The counterpart of the package for tests, as npm installs it.
fn copy_esker_dev(place: &Place) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/node");
    let package = place.path("node_modules/esker-dev");
    fs::create_dir(&package).unwrap();
    for file in ["package.json", "index.js", "rpc.js", "log.js"] {
        fs::copy(source.join(file), package.join(file)).unwrap();
    }
}

#[test]
fn timed_the_package_for_npm_runs_the_binary() {
    let node = program("CLIENT_TESTS_NODE", "node");
    let Some((node, npm)) = node.and_then(|node| npm(&node).map(|npm| (node, npm))) else {
        skip("there is no Node.js with npm: `cargo xtask test` installs it");
        return;
    };
    let place = Place::new(&[("node", &node)]);
    let files = place.release().write_npm(place.folder.path()).unwrap();
    npm_install(&place, &node, &npm, &files);
    let launcher = place.path("node_modules/.bin/esker");
    check(&place, || place.command(&launcher));
    let as_child = place.path("as-child.cjs");
    fs::write(&as_child, AS_CHILD).unwrap();
    let mut option = OsString::from("--require=");
    option.push(&as_child);
    check(&place, || {
        let mut command = place.command(&launcher);
        command.env("NODE_OPTIONS", &option);
        command
    });
    copy_esker_dev(&place);
    fs::write(place.path("test.mjs"), WITH_ESKER_DEV_IN_JAVASCRIPT).unwrap();
    let mut test = place.command(&node);
    test.arg("test.mjs");
    assert_eq!(run_to_success(test).trim(), CHAIN_ID);
}

#[test]
fn the_wheel_runs_the_binary() {
    let Some(python) = python() else {
        skip("there is no Python with pip: `cargo xtask test` installs it");
        return;
    };
    let place = Place::new(&[]);
    let files = place.release().write_wheels(place.folder.path()).unwrap();
    assert_eq!(files.len(), 1);
    let mut venv = place.command(&python);
    venv.args(["-m", "venv", "--without-pip", "venv"]);
    run_to_success(venv);
    let mut install = place.command(&python);
    install.args(["-m", "pip", "--python", "venv/bin/python", "--disable-pip-version-check"]);
    install.args(["install", "--no-cache-dir", "--no-index", "--find-links", ".", "esker"]);
    run_to_success(install);
    check(&place, || place.command(place.path("venv/bin/esker")));
    let module = || {
        let mut command = place.command(place.path("venv/bin/python"));
        command.args(["-m", "esker"]);
        command
    };
    check(&place, module);
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/python/src");
    let mut test = place.command(place.path("venv/bin/python"));
    test.args(["-c", WITH_ESKER_DEV_IN_PYTHON]).env("PYTHONPATH", packages);
    test.env("PYTHONDONTWRITEBYTECODE", "1");
    assert_eq!(run_to_success(test).trim(), CHAIN_ID);
}

/// Writes the completions and pages with the example of the workspace that does so. False where nobody built it.
fn write_shell_files() -> bool {
    let programs = Path::new(env!("CARGO_BIN_EXE_esker")).parent().unwrap();
    let writer = programs.join("examples/shell_files");
    if !writer.is_file() {
        return false;
    }
    let mut command = Command::new(writer);
    command.arg(workspace::root().join(SHELL_FILES));
    run_to_success(command);
    true
}

#[test]
fn the_debian_package_runs_the_binary() {
    let Some(dpkg) = program("", "dpkg-deb") else {
        // `cargo xtask test` leaves the test out there, too.
        eprintln!("skipped: this system has no Debian packages");
        return;
    };
    let tool = program("PACKAGE_TESTS_CARGO_DEB", "cargo-deb");
    let Some(tool) = tool.filter(|_| write_shell_files()) else {
        skip(
            "there is no cargo-deb, or no shell_files: `cargo xtask test` installs and builds them",
        );
        return;
    };
    let place = Place::new(&[]);
    let out = place.path("packages");
    fs::create_dir(&out).unwrap();
    let made = place.release().write_debian(&out, DebianTool { program: &tool, is_fast: true });
    made.unwrap();
    let files: Vec<_> = fs::read_dir(&out).unwrap().map(|file| file.unwrap().path()).collect();
    let [package] = files.as_slice() else { panic!("{files:?}") };

    let field = |name: &str| {
        let mut command = Command::new(&dpkg);
        command.arg("--field").arg(package).arg(name);
        run_to_success(command).trim().to_owned()
    };
    assert_eq!(field("Package"), "esker");
    assert!(field("Version").starts_with(env!("CARGO_PKG_VERSION")));
    assert!(field("Depends").contains("libc6"), "{}", field("Depends"));
    let mut extract = Command::new(&dpkg);
    extract.arg("--extract").arg(package).arg(place.path("root"));
    run_to_success(extract);
    for file in [
        "etc/esker/esker.toml",
        "usr/lib/systemd/system/esker.service",
        "usr/lib/systemd/system/esker-follower@.service",
        "usr/lib/sysusers.d/esker.conf",
        "usr/share/bash-completion/completions/esker",
        "usr/share/man/man1/esker.1.gz",
        "usr/share/doc/esker/copyright",
        "usr/share/doc/esker/docs/operations.md",
    ] {
        assert!(place.path("root").join(file).is_file(), "{file}");
    }
    check(&place, || place.command(place.path("root/usr/bin/esker")));
    // The configuration of the service is one that the binary takes.
    let mut shown = place.command(place.path("root/usr/bin/esker"));
    shown.args(["config", "show", "--config"]).arg(place.path("root/etc/esker/esker.toml"));
    let (code, output) = run(shown);
    assert_eq!(code, Some(0), "{output}");
}
