use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{Ended, Esker, command, run, run_command};

const PASSWORD: &str = "Str0ng-Pass-W0rd!";

/// A data folder, and files with passwords.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// A folder on which a node of the local network ran.
    fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        Esker::start(&["node", "--data-dir", &place.path("data")]).stop("TERM");
        place.write("password", &format!("{PASSWORD}\n"));
        place
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// `esker user` on the folder.
    fn user(&self, args: &[&str]) -> Ended {
        run(&[&["user", "--data-dir", &self.path("data")], args].concat())
    }

    /// The same with the password in a file.
    fn with_password(&self, args: &[&str], file: &str) -> Ended {
        self.user(&[args, &["--password-file", &self.path(file)]].concat())
    }

    fn list(&self) -> String {
        let listed = self.user(&["list"]);
        assert_eq!((listed.code(), listed.stderr.as_str()), (Some(0), ""));
        listed.stdout
    }
}

fn is_refused(ended: &Ended, code: i32, message: &str) {
    assert_eq!(ended.code(), Some(code), "{}", ended.stderr);
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(!ended.stderr.contains(PASSWORD), "{}", ended.stderr);
}

fn is_done(ended: &Ended, message: &str) {
    assert_eq!(ended.stderr, "");
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(0), message));
}

#[test]
fn users_of_a_folder_while_no_node_runs() {
    let place = Place::new();
    assert_eq!(place.list(), "");
    is_done(&place.with_password(&["create", "alice"], "password"), "user alice created\n");
    let refused = place.with_password(&["create", "alice"], "password");
    is_refused(&refused, 1, "user already exists: alice");
    place.write("weak", "weak");
    is_refused(&place.with_password(&["create", "bob"], "weak"), 1, "password is too weak");
    is_refused(&place.with_password(&["create", ""], "password"), 1, "empty username");
    let long = "é".repeat(1025);
    is_refused(&place.with_password(&["create", &long], "password"), 1, "exceeds maximum length");

    let file = place.path("alice.txt");
    let refused = place.with_password(&["export", "alice", &file], "weak");
    is_refused(&refused, 1, "incorrect password: user \"alice\"");
    assert!(!Path::new(&file).exists());
    let exported = place.with_password(&["export", "alice", &file], "password");
    is_done(&exported, &format!("user alice exported to {file}\n"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let refused = place.with_password(&["export", "alice", &file], "password");
    is_refused(&refused, 1, "File exists");

    is_refused(&place.with_password(&["import", "carol", &file], "weak"), 1, "incorrect password");
    let altered = fs::read_to_string(&file).unwrap().replacen("0x00", "0x01", 1);
    let altered = place.write("altered.txt", &altered);
    let altered = altered.to_str().unwrap();
    is_refused(&place.with_password(&["import", "carol", altered], "password"), 1, "checksum");
    assert_eq!(place.list(), "alice\n");
    is_done(
        &place.with_password(&["import", "carol\t", &file], "password"),
        "user \"carol\\t\" imported\n",
    );
    assert_eq!(place.list(), "alice\n\"carol\\t\"\n");
    is_refused(&place.with_password(&["delete", "alice"], "weak"), 1, "incorrect password");
    is_done(&place.with_password(&["delete", "alice"], "password"), "user alice deleted\n");
    is_refused(
        &place.with_password(&["delete", "alice"], "password"),
        1,
        "user doesn't exist: alice",
    );
    assert_eq!(place.list(), "\"carol\\t\"\n");
}

#[test]
fn users_of_a_development_network() {
    let place = Place { dir: tempfile::tempdir().unwrap() };
    place.write("password", PASSWORD);
    Esker::start(&["dev", "--data-dir", &place.path("data")]).stop("TERM");
    let created = place.with_password(&["create", "alice", "--dev"], "password");
    is_done(&created, "user alice created\n");
    is_done(&place.user(&["--dev", "list"]), "alice\n");
    is_refused(&run(&["user", "--dev", "list"]), 2, "name that folder");
    is_refused(
        &place.user(&["list", "--dev", "--network", "local"]),
        2,
        "for network \"local\" use esker node",
    );
}

#[test]
fn the_command_line_and_the_api_share_users() {
    let place = Place::new();
    is_done(&place.with_password(&["create", "alice"], "password"), "user alice created\n");
    let node = Esker::start(&["node", "--data-dir", &place.path("data")]);
    let alice = json!({ "username": "alice", "password": PASSWORD });
    assert_eq!(
        node.call("/ext/keystore", "keystore.listUsers", json!({}))["users"],
        json!(["alice"])
    );
    let address = node.call("/ext/bc/X", "xvm.createAddress", alice.clone())["address"].clone();
    // While a node has the folder nobody else does.
    let refused = place.with_password(&["delete", "alice"], "password");
    is_refused(&refused, 1, "use the API of the running node at /ext/keystore, or stop the node");
    let exported = node.call("/ext/keystore", "keystore.exportUser", alice);
    let file = place.write("alice.txt", exported["user"].as_str().unwrap());
    node.stop("TERM");

    let imported = place.with_password(&["import", "bob", file.to_str().unwrap()], "password");
    is_done(&imported, "user bob imported\n");
    let node = Esker::start(&["node", "--data-dir", &place.path("data")]);
    let bob = json!({ "username": "bob", "password": PASSWORD });
    let listed = node.call("/ext/bc/X", "xvm.listAddresses", bob);
    assert_eq!(listed["addresses"], json!([address]));
}

#[test]
fn there_must_be_data() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    let refused = run(&["user", "list", "--data-dir", nowhere.to_str().unwrap()]);
    is_refused(&refused, 2, "no node data in ");
    assert!(!nowhere.exists());
    is_refused(&run(&["user", "list"]), 2, ".esker/local");
    is_refused(&run(&["user", "list", "--network", "main"]), 2, ".esker/main");
}

#[test]
fn a_password_is_no_argument() {
    for args in [
        &["user", "create", "alice", "--password", "x"][..],
        &["user", "create", "alice", "x"],
        &["user"],
        &["user", "rename"],
    ] {
        assert_eq!(run(args).code(), Some(2), "{args:?}");
    }
}

/// The prompt goes to the terminal that a process belongs to, whatever its standard streams are.
#[test]
fn without_a_terminal_there_is_no_prompt() {
    let place = Place::new();
    let given =
        command(&["user", "create", "alice", "--data-dir", &place.path("data")], place.dir.path());
    let mut alone = Command::new("setsid");
    alone.arg("--wait").arg(given.get_program()).args(given.get_args());
    alone.stdin(Stdio::null());
    let Ok(mut probe) = Command::new("setsid").arg("--version").stdout(Stdio::piped()).spawn()
    else {
        eprintln!("skipped: there is no setsid here");
        return;
    };
    let _version = probe.stdout.take().unwrap().read(&mut [0; 64]);
    probe.wait().unwrap();
    is_refused(&run_command(alone), 1, "use --password-file");
    assert_eq!(place.list(), "");
}
