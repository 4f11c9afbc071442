//! The first minute of a reader: the commands of the pages in their order, on one machine, on the ports that the pages name, with
//! what came before still running. A page that gains a command that no rule covers fails the test (`rules.rs`).

mod answer;
mod page;
mod rules;
mod terminal;

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use esker_e2e::files::tests_path;
use esker_e2e::until::until_within;
use serde_json::Value;

use self::answer::Names;
use self::page::{Shown, commands};
use self::rules::{Does, GROUPS, PREPARED, WORDS, filled, rule};
use self::terminal::{Ended, Terminal, run};
use crate::clients::skip;
use crate::support::PROGRAM;

/// Time that one command may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Time that all of them may take.
const WHOLE_PATIENCE: Duration = Duration::from_secs(1800);
/// Ports that the pages name: those of `esker dev`, of a follower, and of the network in README.md.
const PORTS: [u16; 12] = [8545, 9650, 9651, 9750, 9751, 9752, 9753, 9754, 9755, 9756, 9757, 9758];
/// Tells the test that it runs in a network of its own.
const INSIDE: &str = "ESKER_E2E_OWN_NETWORK";

#[test]
fn commands_of_the_pages_work_one_after_the_other() {
    if std::env::var_os(INSIDE).is_some() {
        follow_all();
        return;
    }
    // A network of its own, where the platform gives one to everybody: there no other program has the ports.
    let mut own = Command::new("unshare");
    own.args(["-rn", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
    let mut probe = Command::new("unshare");
    probe.args(["-rn", "ip", "link", "set", "lo", "up"]).stdin(Stdio::null());
    if probe.output().is_ok_and(|output| output.status.success()) {
        own.arg(std::env::current_exe().unwrap());
        own.args([concat!(module_path!(), "::commands_of_the_pages_work_one_after_the_other")
            .split_once("::")
            .unwrap()
            .1]);
        own.args(["--exact", "--nocapture"]).env(INSIDE, "1");
        let Ended { status, out, errors } =
            run(own, "the test in a network of its own", WHOLE_PATIENCE);
        assert!(status.success() && out.contains("1 passed"), "{out}{errors}");
        return;
    }
    // Tests of the binary use these ports, too, if they are free.
    let lock = File::create(std::env::temp_dir().join("esker-usual-ports.lock")).unwrap();
    until_within("no other test has the usual ports", WHOLE_PATIENCE, || lock.try_lock().ok());
    let is_taken = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_err();
    match PORTS.iter().find(|port| is_taken(port)) {
        Some(port) => skip(&format!("another program has port {port}, which the pages name")),
        None => follow_all(),
    }
}

fn follow_all() {
    for pages in GROUPS {
        let mut reader = Reader::new();
        for page in pages {
            reader.follow_page(page);
        }
        reader.stop_all();
    }
}

/// A person with a shell, in which `esker` is on the path.
struct Reader {
    /// A folder for each page is in it.
    home: tempfile::TempDir,
    path: OsString,
    /// The commands that run in other terminals.
    running: Vec<Terminal>,
    names: Names,
}

impl Reader {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(PROGRAM, home.path().join("esker")).unwrap();
        let cast = tests_path("clients/node_modules/@foundry-rs/cast-linux-amd64/bin");
        let mut path = vec![home.path().to_path_buf(), cast];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(path).unwrap();
        Self { home, path, running: Vec::new(), names: Names::default() }
    }

    /// Follows a page in a new folder.
    fn follow_page(&mut self, page: &str) {
        let text = fs::read_to_string(tests_path("..").join(page)).unwrap();
        let shown = commands(page, &text);
        assert!(!shown.is_empty(), "{page} shows no command");
        let folder = self.home.path().join(page.replace('/', "-"));
        fs::create_dir(&folder).unwrap();
        let examples = tests_path("../examples").canonicalize().unwrap();
        std::os::unix::fs::symlink(examples, folder.join("examples")).unwrap();
        for (_, script) in PREPARED.iter().filter(|(of, _)| *of == page) {
            let ended = run(self.shell(&folder, script), &format!("{page}: before it"), PATIENCE);
            assert!(ended.status.success(), "{page}: before it: {ended}");
        }
        for (_, word, _) in WORDS.iter().filter(|(of, ..)| *of == page) {
            let is_used = shown.iter().any(|shown| shown.command.contains(word));
            assert!(is_used, "{page} has no {word:?} any more: rules.rs");
        }
        let before = self.running.len();
        let mut kept = before;
        for shown in &shown {
            let at = format!("{page}:{}: {}", shown.line, shown.command);
            match rule(page, &shown.command) {
                Some(does) => {
                    if let Some(terminal) = self.follow(&folder, page, shown, does, &at) {
                        match does {
                            Does::Keeps(_) => {
                                self.running.insert(kept, terminal);
                                kept += 1;
                            }
                            _ => self.running.push(terminal),
                        }
                    }
                }
                None => panic!("{at}: no rule says what it does: rules.rs"),
            }
        }
        for terminal in self.running.drain(kept..).rev() {
            terminal.stop(PATIENCE);
        }
        for terminal in &mut self.running {
            terminal.check_runs();
        }
    }

    /// Does what the rule says. Returns what runs in a terminal of its own from now on.
    fn follow(
        &mut self,
        folder: &Path,
        page: &str,
        shown: &Shown,
        does: Does,
        at: &str,
    ) -> Option<Terminal> {
        let command = self.names.to_real(&filled(page, &shown.command));
        let start = || {
            let shell = self.shell(folder, &format!("exec {command} 2>&1"));
            Terminal::start(shell, at)
        };
        match does {
            Does::LeftOut(_) => {}
            Does::Keeps(ready) | Does::KeepsOnPage(ready) => {
                let terminal = start();
                terminal.wait_for(ready, PATIENCE);
                return Some(terminal);
            }
            Does::Once(ready) => {
                let terminal = start();
                terminal.wait_for(ready, PATIENCE);
                terminal.stop(PATIENCE);
            }
            Does::Shows(text) => {
                until_within(&format!("{at}: {text} is shown"), PATIENCE, || {
                    let ended = run(self.shell(folder, &command), at, PATIENCE);
                    assert!(ended.status.success(), "{at}: {ended}");
                    ended.out.contains(text).then_some(())
                });
            }
            Does::Refused(code, text) => {
                let ended = run(self.shell(folder, &command), at, PATIENCE);
                let says = ended.errors.contains(text);
                assert!(ended.status.code() == Some(code) && says, "{at}: {ended}");
            }
            Does::Works => {
                if command.starts_with("cast ") && !self.has_cast() {
                    skip(&format!("{at}: there is no cast: `cargo xtask test` installs it"));
                    return None;
                }
                let ended = run(self.shell(folder, &command), at, PATIENCE);
                assert!(ended.status.success(), "{at}: {ended}");
                self.check_output(shown, &ended, at);
            }
        }
        None
    }

    /// Compares the output with what the page says of it.
    fn check_output(&mut self, shown: &Shown, ended: &Ended, at: &str) {
        let document = || {
            serde_json::from_str::<Value>(&ended.out)
                .unwrap_or_else(|error| panic!("{at}: no JSON ({error}): {ended}"))
        };
        match &shown.answer {
            Some(answer) => {
                let difference = self.names.difference(answer, &document());
                assert_eq!(difference, None, "{at}: {ended}");
            }
            None if shown.command.starts_with("curl ") => {
                assert!(document().get("result").is_some(), "{at}: {ended}");
            }
            None if shown.command.contains(" --json") => {
                assert_eq!(ended.out.lines().count(), 1, "{at}: {ended}");
                document();
            }
            None => {}
        }
    }

    fn has_cast(&self) -> bool {
        std::env::split_paths(&self.path).any(|folder| folder.join("cast").exists())
    }

    fn shell(&self, folder: &Path, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder).stdin(Stdio::null());
        shell.env("PATH", &self.path).env("HOME", self.home.path()).env("NO_COLOR", "1");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ESKER_") {
                shell.env_remove(name);
            }
        }
        shell
    }

    /// Ends what runs, the last first, as Ctrl-C does.
    fn stop_all(self) {
        for terminal in self.running.into_iter().rev() {
            terminal.stop(PATIENCE);
        }
    }
}
