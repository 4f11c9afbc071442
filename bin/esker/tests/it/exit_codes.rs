use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use crate::build;
use crate::harness::{Esker, command, run, run_command};

/// Code and a part of the message.
fn check(args: &[&str], code: i32, message: &str) {
    let ended = run(args);
    assert_eq!(ended.code(), Some(code), "{args:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(message), "{args:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{args:?}");
}

#[test]
fn usage_and_configuration_are_2() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("esker.toml");
    fs::write(&file, "htpp-port = 1").unwrap();
    let network = dir.path().join("network.json");
    fs::write(&network, "{").unwrap();
    let (file, network) = (file.to_str().unwrap(), network.to_str().unwrap());

    check(&["nod"], 2, "unrecognized subcommand 'nod'");
    check(&["dev", "--htpp-port", "1"], 2, "--http-port");
    check(
        &["dev", "--http-port", "x"],
        2,
        "--http-port: http-port: \"x\": expected a whole number",
    );
    check(
        &["node", "--config", file],
        2,
        "esker.toml:1: unknown key \"htpp-port\", did you mean \"http-port\"?",
    );
    check(&["node", "--config", "nowhere.toml"], 2, "can't read nowhere.toml");
    check(&["node", "--network", network], 2, "EOF while parsing");
    check(&["dev", "--network-id", "1"], 2, "set network to main");
    check(
        &["dev", "--http-port", "0", "--http-host", "192.0.2.1"],
        2,
        "can't listen on 192.0.2.1:0",
    );
}

/// The package's own program has no validators unless it is built with the feature; that of `tests/e2e` has.
#[cfg(not(feature = "validators"))]
#[test]
fn a_program_without_validators_makes_networks_and_says_how_to_build_it() {
    let dir = tempfile::tempdir().unwrap();
    let net = dir.path().join("net");
    let net = net.to_str().unwrap();
    let made = run(&["network", "new", "--validators", "1", "--base-port", "40000", "--out", net]);
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    const BUILD: &str =
        "built without validators: build it with `cargo build --release --features validators`";
    check(&["network", "run", net], 2, BUILD);
    let file = format!("{net}/network.json");
    const REASON: &str = "has validators, and this program was built without them: build it with";
    check(&["node", "--config", &format!("{net}/validator-1/config.toml")], 2, REASON);
    let data = dir.path().join("data");
    let follow = ["--follow", "http://127.0.0.1:1", "--data-dir", data.to_str().unwrap()];
    check(&[&["node", "--network", &file, "--http-port", "0"], &follow[..]].concat(), 2, REASON);
    assert!(!data.exists(), "nothing is left behind");
    check(&["node", "--network", &file, "--http-port", "0"], 2, REASON);
}

#[test]
fn help_and_version_are_0() {
    for args in
        [&["--help"][..], &["dev", "--help"], &["node", "-h"], &["config", "show", "--help"]]
    {
        let ended = run(args);
        assert_eq!(ended.code(), Some(0));
        assert!(ended.stdout.contains("Usage: esker"), "{}", ended.stdout);
    }
    let version = run(&["--version"]);
    assert_eq!(version.stdout, format!("esker {}\n", build::version()));
}

#[test]
fn a_port_in_use_is_4() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    check(&["dev", "--http-port", &port], 4, &format!("port in use: 127.0.0.1:{port}"));
}

#[test]
fn damaged_data_is_3() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = ["node", "--data-dir", data.to_str().unwrap()];
    let (status, ..) = Esker::start(&args).stop("TERM");
    assert_eq!(status.code(), Some(0));
    let database = data.join("esker.mdb");
    let bytes = fs::read(&database).unwrap();
    fs::write(&database, vec![0x55; bytes.len()]).unwrap();
    let ended = run(&[&args[..], &["--http-port", "0"]].concat());
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("damaged"), "{}", ended.stderr);
}

#[test]
fn damaged_keys_are_3() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = ["node", "--data-dir", data.to_str().unwrap()];
    Esker::start(&args).stop("TERM");
    fs::write(data.join("staking").join("signer.key"), "short").unwrap();
    let ended = run(&[&args[..], &["--http-port", "0"]].concat());
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
}

/// A key that every user of the machine can read is not secret.
#[test]
fn staking_keys_for_everyone_are_2() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = ["node", "--data-dir", data.to_str().unwrap()];
    Esker::start(&args).stop("TERM");
    for name in ["staker.key", "signer.key"] {
        let key = data.join("staking").join(name);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        let ended = run(&[&args[..], &["--http-port", "0"]].concat());
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        let (text, how) = (&ended.stderr, "give it mode 0600 (chmod 600)");
        assert!(text.contains(name) && text.contains(how), "{text}");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    }
    let (status, ..) = Esker::start(&args).stop("TERM");
    assert_eq!(status.code(), Some(0));
}

/// A user who must not read the folder learns that, and not that there is nothing.
#[test]
fn a_folder_of_somebody_else_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    Esker::start(&["node", "--data-dir", data.to_str().unwrap()]).stop("TERM");
    let nobody = 65534;
    let is_root = dir.path().metadata().unwrap().uid() == 0;
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mode = if is_root { 0o700 } else { 0o000 };
    fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
    let as_other = |args: &[&str]| {
        let mut command = command(args, Path::new("/tmp"));
        if is_root {
            command.uid(nobody).gid(nobody);
        }
        command.output()
    };
    if !as_other(&["--version"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: another user can't run the binary where it is");
        return;
    }
    let (folder, new) = (data.to_str().unwrap(), dir.path().join("new"));
    let new = new.to_str().unwrap();
    for args in [
        &["db", "verify", "--data-dir", folder][..],
        &["db", "rewind", "--data-dir", folder],
        &["export", new, "--data-dir", folder],
        &["backup", new, "--data-dir", folder],
        &["user", "list", "--data-dir", folder],
        &["node", "--http-port", "0", "--data-dir", folder],
    ] {
        let output = as_other(args).unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.to_lowercase().contains("permission denied"), "{args:?}: {text}");
        assert!(!text.contains("no node data"), "{args:?}: {text}");
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_second_process_on_the_same_data_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let first = Esker::start(&["node", "--data-dir", data]);
    check(
        &["node", "--data-dir", data, "--http-port", "0"],
        1,
        &format!("is in use by another process (pid {})", first.ready["pid"]),
    );
    assert_eq!(first.height(), "0", "the first is not disturbed");
    let log = fs::read_to_string(dir.path().join("logs/main.log")).unwrap();
    assert!(!log.contains("ERROR"), "the log is the first one's: {log}");
}

#[test]
fn data_of_another_network_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    Esker::start(&["node", "--data-dir", data]).stop("TERM");
    check(
        &["node", "--network", "test", "--data-dir", data, "--http-port", "0"],
        2,
        "data folder belongs to network 12345",
    );
}

#[test]
fn a_start_that_fails_leaves_no_temporary_folder() {
    let temp = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = run_command(command(&["dev", "--http-port", &port], temp.path()));
    assert_eq!(ended.code(), Some(4));
    assert!(crate::harness::names(temp.path()).is_empty());
}
