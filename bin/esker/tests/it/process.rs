use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, PATIENCE, command, logged, names, run_command};

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

/// A terminal and a launcher such as npx may both pass on one Ctrl-C.
#[test]
fn timed_a_signal_that_comes_twice_at_once_counts_once() {
    let node = Esker::start(&["dev"]);
    node.signal("INT");
    let (status, _, temp) = node.stop("INT");
    assert_eq!(status.code(), Some(0));
    assert!(names(temp.path()).is_empty(), "{:?}", names(temp.path()));
}

#[test]
fn timed_a_second_signal_ends_a_node_that_is_stopping() {
    let node = Esker::start(&["dev", "--http-shutdown-timeout", "60s"]);
    let mut unfinished =
        std::net::TcpStream::connect(node.ready["http"].as_str().unwrap()).unwrap();
    let head = "POST /ext/info HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    unfinished.write_all(head.as_bytes()).unwrap();
    // The node reads the request from here on; before, it would close the connection as one without.
    unfinished.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut interim = [0; 12];
    unfinished.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100");
    let begun = Instant::now();
    let status = node.stop_with_many("INT");
    assert_eq!(status.code(), Some(1), "after {:?}", begun.elapsed());
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
}

#[test]
fn the_folder_of_a_killed_node_is_removed_by_the_next_one_and_that_of_a_running_one_is_not() {
    let running = Esker::start(&["dev"]);
    let temp = running.temp.path();
    let running_name = names(temp);
    let killed = Esker::start_in(&["dev"], temp);
    assert_eq!(names(temp).len(), 2);
    // Ended as by SIGKILL.
    drop(killed);
    assert_eq!(names(temp).len(), 2, "a killed node can't remove its folder");
    let next = Esker::start_in(&["dev"], temp);
    let folders = names(temp);
    assert_eq!(folders.len(), 2, "{folders:?}");
    assert!(folders.contains(&running_name[0]), "{folders:?}");
    assert_ne!(running.height(), "", "it still answers");
    next.stop("TERM");
    assert_eq!(names(temp), running_name);
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
fn an_endpoint_that_is_switched_off_says_why_once() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let log = |flags: &[&str]| {
        let arguments =
            [&["node", "--data-dir", data, "--log-display-level", "off"], flags].concat();
        let node = Esker::start(&arguments);
        let c = node.ready["chains"]["C"].as_str().unwrap().to_owned();
        let by_id = format!("/ext/bc/{c}/admin");
        let paths =
            ["/ext/admin", "/ext/bc/C/admin", &by_id, "/ext/index/X/block", "/ext/index/P/block"];
        let mut statuses = Vec::new();
        for path in paths.into_iter().chain(["/ext/nothing"]) {
            for _ in 0..2 {
                let (status, body) = node.http("POST", path, "{}");
                assert_eq!(status == 404, body == "404 page not found\n", "{path}: {body}");
                statuses.push(status);
            }
        }
        node.stop("TERM");
        let file = Path::new(data).join("logs/main.log");
        let text = fs::read_to_string(&file).unwrap();
        fs::remove_file(file).unwrap();
        let lines = text.lines().filter_map(|line| line.split_once("switched off: "));
        let reasons: Vec<_> = lines.map(|(_, reason)| reason.replace(&c, "ID")).collect();
        (statuses, reasons)
    };
    let (statuses, reasons) = log(&[]);
    assert_eq!(statuses, [404; 12]);
    assert_eq!(
        reasons,
        [
            "api-admin-enabled is false path=/ext/admin",
            "chains.C.admin-api-enabled is false path=/ext/bc/C/admin",
            "chains.C.admin-api-enabled is false path=/ext/bc/ID/admin",
            "index-enabled is false path=/ext/index/X/block",
            "index-enabled is false path=/ext/index/P/block",
        ]
    );
    let config = dir.path().join("esker.toml");
    let settings =
        "api-admin-enabled = true\nindex-enabled = true\n[chains.C]\nadmin-api-enabled = true\n";
    fs::write(&config, settings).unwrap();
    let (statuses, reasons) = log(&["--config", config.to_str().unwrap()]);
    assert!(statuses[..10].iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!(reasons, [""; 0]);
    let (_, reasons) = log(&["--public"]);
    assert_eq!(
        reasons[..2],
        ["the node is public path=/ext/admin", "the node is public path=/ext/bc/C/admin"]
    );
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
fn reloads_and_those_that_fail_are_logged() {
    let dir = tempfile::tempdir().unwrap();
    let (config, data) = (dir.path().join("esker.toml"), dir.path().join("data"));
    fs::write(&config, "log-format = 'json'").unwrap();
    let args = ["--config", config.to_str().unwrap(), "--data-dir", data.to_str().unwrap()];
    let node = Esker::start(&[&["node"][..], &args].concat());
    // The signal arrives when it arrives; the test's time limit is that of the test run.
    let wait_for = |message: &str| loop {
        if let [line, ..] = &logged(&data, message)[..] {
            return line.clone();
        }
        std::thread::yield_now();
    };
    fs::write(&config, "log-format = 'json'\nlog-level = 'loud'").unwrap();
    node.signal("HUP");
    let failed = wait_for("reloading the log levels failed; they are unchanged");
    assert_eq!((&failed["level"], &failed["logger"]), (&json!("ERROR"), &json!("main")));
    assert!(failed["error"].as_str().unwrap().contains("log-level: expected off"), "{failed}");
    assert!(logged(&data, "reloaded the log levels").is_empty());
    fs::write(&config, "log-format = 'json'\nlog-level = 'debug'").unwrap();
    node.signal("HUP");
    assert_eq!(wait_for("reloaded the log levels")["level"], "INFO");
    node.stop("TERM");
    assert_eq!(logged(&data, "starting")[0]["version"], env!("CARGO_PKG_VERSION"));
    for message in ["stopping", "stopped"] {
        assert_eq!(logged(&data, message).len(), 1, "{message}");
    }
}

/// A pipe stands for a file that takes long: the node reads it until its other end is closed.
#[test]
fn a_signal_ends_a_start_that_loads_a_state() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("state.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = ["evm", "--port", "0", "--load-state", pipe.to_str().unwrap()];
    let mut child = command(&args, dir.path()).stdout(Stdio::null()).spawn().unwrap();
    let (opened, writer) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Returns as soon as the node reads.
        let _gone = opened.send(fs::OpenOptions::new().write(true).open(&pipe).unwrap());
    });
    let Ok(writer) = writer.recv_timeout(PATIENCE) else {
        child.kill().unwrap();
        panic!("the node does not read the state within {PATIENCE:?}");
    };
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                panic!("the node does not end while it loads a state");
            }
            None => std::thread::yield_now(),
        }
    };
    assert!(status.success(), "{status}");
    assert_eq!(names(dir.path()), ["state.json"], "the temporary folder is gone");
    drop(writer);
}

#[test]
fn what_ends_a_start_is_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let ended = run_command(command(
        &[
            "node",
            "--http-port",
            &address.port().to_string(),
            "--data-dir",
            data.to_str().unwrap(),
            "--log-format",
            "json",
        ],
        dir.path(),
    ));
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    let lines = logged(&data, "the node ends because of an error");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["level"], &lines[0]["logger"]), (&json!("ERROR"), &json!("main")));
    let error = lines[0]["error"].as_str().unwrap();
    assert!(error.contains(&format!("port in use: {address}")), "{error}");
    assert_eq!(ended.stderr.matches("port in use").count(), 1, "once on the terminal");
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
