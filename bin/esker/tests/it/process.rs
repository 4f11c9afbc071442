use std::fs;

use serde_json::{Value, json};

use crate::harness::{Esker, command, names, run_command};

#[test]
fn signals_that_stop_end_with_0_and_remove_the_temporary_folder() {
    for signal in ["TERM", "INT"] {
        let node = Esker::start(&["dev"]);
        assert_eq!(names(node.temp.path()).len(), 1);
        let (status, rest, temp) = node.stop(signal);
        assert_eq!(status.code(), Some(0));
        assert_eq!(rest, "", "one line is all that is printed");
        assert!(names(temp.path()).is_empty(), "{:?}", names(temp.path()));
    }
}

#[test]
fn a_waiting_client_does_not_delay_the_stop() {
    let node = Esker::start(&["dev"]);
    let _waiting = std::net::TcpStream::connect(node.ready["http"].as_str().unwrap()).unwrap();
    assert_eq!(node.stop("TERM").0.code(), Some(0));
}

#[test]
fn the_ready_file_holds_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ready.json");
    let node = Esker::start(&["dev", "--ready-file", file.to_str().unwrap()]);
    let line: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(line, node.ready);
    for member in ["http", "url", "pid", "nodeID", "networkID", "chains", "nativeAssetID"] {
        assert!(!line[member].is_null(), "{member}: {line}");
    }
    node.stop("TERM");
    assert!(names(dir.path()).is_empty(), "who finds the file finds a node");
}

#[test]
fn a_ready_file_that_can_not_be_written_ends_the_node() {
    let temp = tempfile::tempdir().unwrap();
    let args = ["dev", "--http-port", "0", "--ready-file", "/nowhere/ready"];
    let ended = run_command(command(&args, temp.path()));
    assert_eq!(ended.code(), Some(1));
    assert!(ended.stderr.contains("can't write /nowhere/ready"), "{}", ended.stderr);
}

#[test]
fn data_and_one_log_a_chain_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let node =
        Esker::start(&["node", "--data-dir", data.to_str().unwrap(), "--log-display-level", "off"]);
    let id = node.ready["nodeID"].clone();
    node.stop("TERM");
    assert_eq!(names(&data.join("logs")), ["C.log", "X.log", "main.log"]);
    let log = fs::read_to_string(data.join("logs").join("main.log")).unwrap();
    for text in ["ready http=127.0.0.1:", "stopped"] {
        assert!(log.contains(text), "{log}");
    }
    let again =
        Esker::start(&["node", "--data-dir", data.to_str().unwrap(), "--log-display-level", "off"]);
    assert_eq!(again.ready["nodeID"], id, "the identity is kept");
}

#[test]
fn log_levels_are_read_again_at_sighup() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("esker.toml");
    fs::write(&config, "api-admin-enabled = true").unwrap();
    let node = Esker::start(&["dev", "--config", config.to_str().unwrap()]);
    let level = || {
        let reply = node.call("/ext/admin", "admin.getLoggerLevel", json!({"loggerName": "X"}));
        reply["loggerLevels"]["X"]["logLevel"].as_str().unwrap().to_owned()
    };
    assert_eq!(level(), "INFO");
    fs::write(&config, "api-admin-enabled = true\n[chains.X]\nlog-level = 'debug'").unwrap();
    node.signal("HUP");
    // The signal arrives when it arrives; the test's time limit is that of the test run.
    while level() != "DEBUG" {
        std::thread::yield_now();
    }
}

#[test]
fn config_show_tells_origins() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("esker.toml");
    fs::write(&file, "index-enabled = true\n").unwrap();
    let args = ["config", "show", "--http-port", "1", "--config", file.to_str().unwrap()];
    let mut command = command(&args, temp.path());
    command.env("ESKER_LOG_LEVEL", "warn");
    let ended = run_command(command);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let place = format!("file {}:1", file.display());
    let data = format!("{}/.esker/local", temp.path().display());
    for (name, value, origin) in [
        ("http-port", "1", "flag --http-port"),
        ("log-level", "warn", "env ESKER_LOG_LEVEL"),
        ("index-enabled", "true", place.as_str()),
        ("http-host", "127.0.0.1", "default"),
        ("data-dir", data.as_str(), "default"),
    ] {
        let line = ended.stdout.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words.join(" "), format!("{name} {value} {origin}"));
    }
}
