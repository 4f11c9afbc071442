//! Several validators as processes, on the network that `esker network new` makes.

use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use esker_client::{RpcClient, Wallet, XvmClient};
use esker_e2e::files::{tests_path, write_secret};
use esker_e2e::funds::funded;
use esker_e2e::{Node, NodeBuilder, until};
use esker_settings::exit_code::PORT_IN_USE;
use serde_json::{Value, json};

use crate::load::EVM;
use crate::support::{PROGRAM, esker, wait_accepted, wallet};

/// A port from which `count` ports are free. Not one that the system gives to outgoing connections: such a connection
/// could have it while a validator is down.
pub(crate) fn free_ports(count: u16) -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let of_process = u16::try_from(std::process::id() % 900).unwrap() * 20;
    until("enough ports in a row are free", || {
        let first = 10_000 + (of_process + TAKEN.fetch_add(count, Ordering::Relaxed)) % 20_000;
        let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        (first..first + count).all(is_free).then_some(first)
    })
}

/// Makes a network in a new folder; its first port.
pub(crate) fn new_network(out: &Path, validators: u16) -> u16 {
    new_network_with(out, (validators, 0))
}

/// As [`new_network`], with followers.
pub(crate) fn new_network_with(out: &Path, (validators, followers): (u16, u16)) -> u16 {
    let base = free_ports(2 * validators + followers);
    let output = Command::new(PROGRAM)
        .args(["network", "new", "--validators", &validators.to_string()])
        .args(["--followers", &followers.to_string()])
        .args(["--base-port", &base.to_string(), "--out"])
        .arg(out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    base
}

/// Shortens the timeouts of a network, so that a validator which lost its votes waits for seconds.
pub(crate) fn shorten_timeouts(network: &Path) {
    let file = network.join("network.json");
    let mut content: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    content["esker"]["engine"] = json!({
        "leaderTimeoutMs": 500, "certificationTimeoutMs": 1_000, "skipTimeoutMs": 2_500, "heartbeatMs": 1_000,
    });
    std::fs::write(file, content.to_string()).unwrap();
}

/// Runs the program with a validator's configuration; exit code and standard error.
pub(crate) fn run(network: &Path, number: usize, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM)
        .args(args)
        .arg("--config")
        .arg(network.join(format!("validator-{number}/config.toml")))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

pub(crate) fn start(network: &Path, number: usize) -> Node {
    builder(network, number).start().unwrap()
}

/// A validator that is not started yet.
pub(crate) fn builder(network: &Path, number: usize) -> NodeBuilder {
    let folder = network.join(format!("validator-{number}"));
    NodeBuilder::new(PROGRAM)
        .network(network.join("network.json"))
        .data_dir(folder.join("data"))
        .arg("--validator-key")
        .arg(folder.join("key"))
}

pub(crate) fn status(node: &Node) -> Value {
    let reply = node.rpc().http().request("GET", "/ext/status", &[], b"").unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

/// The error of the check of validators, and its message.
pub(crate) fn health(node: &Node) -> (Option<String>, Value) {
    let report: Value = node.rpc().call("/ext/health", "health.health", json!({})).unwrap();
    let check = &report["checks"]["validators"];
    (check["error"].as_str().map(str::to_owned), check["message"].clone())
}

pub(crate) fn metrics(node: &Node) -> String {
    let reply = node.rpc().http().request("GET", "/ext/metrics", &[], b"").unwrap();
    String::from_utf8(reply.body.to_vec()).unwrap()
}

/// The value of a series in metrics.
pub(crate) fn value(metrics: &str, series: &str) -> u64 {
    let line = metrics.lines().find(|line| line.starts_with(&format!("{series} ")));
    let value = line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok());
    value.unwrap_or_else(|| panic!("{series}: {metrics}"))
}

/// Sends a payment to one node and waits until others have accepted it.
pub(crate) fn pay(to: &Node, others: &[&Node]) {
    let own = wallet(to, "X", funded());
    let output = Wallet::output(own.params().fee_asset_id, 5, own.owner());
    let tx = own.base_tx(vec![output], b"among validators").unwrap();
    let id = to.x().issue_tx(&tx).unwrap();
    wait_accepted(&mut to.x(), &id);
    for node in others {
        wait_accepted(&mut node.x(), &id);
    }
}

#[test]
fn four_validators_decide_and_one_may_be_killed() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    let nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    for node in &nodes {
        until("each validator has its three peers", || {
            let status = status(node);
            assert_eq!(status["role"], "validator");
            (status["peers"] == 3).then_some(())
        });
    }
    until("enough validators are connected", || health(&nodes[0]).0.is_none().then_some(()));
    pay(&nodes[0], &[&nodes[1], &nodes[2], &nodes[3]]);

    // Three decide without the fourth, which then catches up.
    let mut nodes = nodes;
    nodes.pop().unwrap().kill().unwrap();
    pay(&nodes[1], &[&nodes[0], &nodes[2]]);
    let fourth = start(&network, 4);
    let height = nodes[0].x().get_height().unwrap();
    until("the fourth has what it missed", || {
        (fourth.x().get_height().unwrap() >= height).then_some(())
    });
    pay(&fourth, &[&nodes[0]]);
    for height in 0..=fourth.x().get_height().unwrap() {
        let id = |node: &Node| node.x().get_block_by_height(height).unwrap().id();
        assert_eq!(id(&nodes[0]), id(&fourth), "X {height}");
    }
    let metrics = metrics(&nodes[0]);
    let value = |series: &str| value(&metrics, series);
    assert!(value("esker_validator_rounds_total{result=\"final\"}") > 0);
    assert_eq!((value("esker_validator_quorum"), value("esker_validator_voting")), (3, 1));
    let votes = |kind| value(&format!("esker_validator_votes_total{{kind=\"{kind}\"}}"));
    assert!(votes("notarize") > 0 && votes("finalize") > 0);
    // Queues between validators have their room from the start on.
    assert!(value("esker_process_anonymous_memory_bytes") < 300 << 20, "{metrics}");
    assert_eq!(votes("conflicting"), 0);
    let by_validator = metrics.lines().filter(|line| {
        line.starts_with("esker_validator_votes_by_validator_total{") && !line.ends_with(" 0")
    });
    assert_eq!(by_validator.count(), 4, "{metrics}");

    // Two of four do not decide, and say so.
    fourth.kill().unwrap();
    nodes.pop().unwrap().kill().unwrap();
    let (error, message) = until("the health report misses the others", || {
        let (error, message) = health(&nodes[0]);
        Some((error?, message))
    });
    assert_eq!(error, "3 of 4 validators are needed to decide, 2 are connected", "{message}");
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
    let verified = Command::new(PROGRAM)
        .args(["db", "verify", "--config"])
        .arg(network.join("validator-1/config.toml"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let reported = String::from_utf8(verified.stdout).unwrap();
    assert!(reported.ends_with("\nnothing is wrong\n"), "{reported}");
}

#[test]
fn a_validator_whose_votes_are_lost_follows_before_it_votes() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    shorten_timeouts(&network);
    let nodes: Vec<Node> = (1..=3).map(|number| start(&network, number)).collect();
    let fourth = start(&network, 4);
    pay(&nodes[0], &[&nodes[1], &nodes[2], &fourth]);
    assert_eq!(health(&fourth).1["votes"], true);

    // Its key is in use, whatever the data folder.
    let elsewhere = folder.path().join("elsewhere");
    let args = ["node", "--http-port", "0", "--data-dir", elsewhere.to_str().unwrap()];
    let (code, text) = run(&network, 4, &args);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("another process uses this key: a validator never runs twice"), "{text}");
    assert!(fourth.stop().unwrap().success());

    // A change that would leave it with other bundles than the others have is refused.
    let data = network.join("validator-4/data");
    let backup = folder.path().join("backup");
    let blocks = folder.path().join("blocks");
    std::fs::write(&blocks, "").unwrap();
    for (args, reason) in [
        (&["import", blocks.to_str().unwrap()][..], "has validators: they decide which blocks"),
        (
            &["db", "rewind", "--to-height", "0", "--yes"],
            "only a node that decides alone can rewind",
        ),
    ] {
        let (code, text) = run(&network, 4, args);
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(text.contains(reason), "{args:?}: {text}");
    }
    let (code, text) = run(&network, 4, &["backup", backup.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");
    pay(&nodes[1], &[&nodes[0], &nodes[2]]);

    // From the backup, which has no votes, and from nothing.
    for restore in [true, false] {
        std::fs::remove_dir_all(&data).unwrap();
        if restore {
            std::fs::rename(&backup, &data).unwrap();
            assert!(!data.join("consensus").exists(), "a backup has no votes");
        }
        let fourth = start(&network, 4);
        let height = nodes[0].x().get_height().unwrap();
        until("it has what it missed", || {
            (fourth.x().get_height().unwrap() >= height).then_some(())
        });
        until("it votes again", || (health(&fourth).1["votes"] == true).then_some(()));
        let output = fourth.output();
        assert!(output.contains("the votes of this validator are not in its folder"), "{output}");
        pay(&fourth, &[&nodes[0]]);
        assert!(fourth.stop().unwrap().success());
    }
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
}

/// A running `esker network run`, killed on drop.
struct RunningNetwork(Child);

impl Drop for RunningNetwork {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        // Its validators end with it when it is told to.
        let _terminated = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ended = self.0.wait();
    }
}

/// The README's commands: four validators and a follower, a transaction sent to one node and read from another.
#[test]
fn the_commands_of_the_readme_run_four_validators_and_a_follower_and_stop_them() {
    let readme = std::fs::read_to_string(tests_path("../README.md")).unwrap();
    let new = readme.lines().find_map(|line| line.strip_prefix("    esker network new ")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let base = free_ports(9);
    let (new, documented) = match new.split_once(" --base-port ") {
        Some((before, rest)) => {
            let (port, after) = rest.split_once(' ').unwrap();
            (format!("{before} {after}"), port.parse::<u16>().unwrap())
        }
        None => panic!("esker dev, which runs already, has the usual ports: {new}"),
    };
    let made = Command::new(PROGRAM)
        .args(["network", "new"])
        .args(new.split_whitespace())
        .args(["--base-port", &base.to_string()])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(readme.contains("\n    esker network run net\n"), "the next command");
    let (code, text) = esker(&["network", "run"], &[folder.path()]);
    assert_eq!(code, Some(2), "{text}");
    let run_network = || {
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(PROGRAM);
        let command = command.args(["network", "run"]).arg(&network).stdin(Stdio::null());
        RunningNetwork(command.stdout(log).spawn().unwrap())
    };
    let mut running = run_network();
    let address = |offset: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, base + offset));
    let chain = |offset| XvmClient::new(address(offset), "X");
    // When it says so, all answer.
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
    until("the network is ready", || log().contains("\nThe network is ready. ").then_some(()));
    for offset in [0, 2, 4, 6, 8] {
        chain(offset).get_height().unwrap();
        let shown = format!(" http://{}\n", address(offset));
        until("where it answers is shown", || log().contains(&shown).then_some(()));
    }

    // The node that the README sends to, and the one that it reads from.
    let (before, rest) = readme.split_once(r#""evm_sendRawTransaction","params":[""#).unwrap();
    let (raw, rest) = rest.split_once('"').unwrap();
    let port_of = |text: &str| -> u16 { text.split('/').next().unwrap().parse().unwrap() };
    let to = port_of(before.rsplit_once("http://127.0.0.1:").unwrap().1) - documented;
    let from = port_of(rest.split_once("http://127.0.0.1:").unwrap().1) - documented;
    assert_eq!((to, from), (0, 8), "the first validator, and the follower");
    let _hash: Value =
        RpcClient::new(address(to)).call(EVM, "evm_sendRawTransaction", json!([raw])).unwrap();
    let params = json!(["0x0707070707070707070707070707070707070707", "latest"]);
    until("the follower has it", || {
        let balance: String =
            RpcClient::new(address(from)).call(EVM, "evm_getBalance", params.clone()).unwrap();
        (balance == "0x9").then_some(())
    });
    until("the follower is connected to all four", || {
        let (_, status) = esker(&["status", "--url", &format!("http://{}", address(from))], &[]);
        assert!(status.contains("\nrole       follower\n"), "{status}");
        status.contains("\npeers      4\n").then_some(())
    });

    let pid = running.0.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    let ended = until("all have stopped", || running.0.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    let log = log();
    for number in 1..=4 {
        assert!(log.contains(&format!("{number} | validator ended: exit status: 0\n")), "{log}");
    }
    assert!(log.contains("f1 | follower ended: exit status: 0\n"), "{log}");

    // Killed, it can't stop them: they end by themselves, and the keys can be used again.
    let mut running = run_network();
    for offset in [0, 2, 4, 6, 8] {
        until("a node answers", || chain(offset).get_height().ok());
    }
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    for number in 1..=4 {
        until("it has ended without the command", || {
            chain(2 * (number - 1)).get_height().is_err().then_some(())
        });
        until("its key is free", || {
            let key = std::fs::File::open(network.join(format!("validator-{number}/key"))).unwrap();
            key.try_lock().ok()
        });
    }
}

#[test]
fn a_network_does_not_run_while_another_program_has_a_port_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let base = new_network(&network, 4);
    for (offset, setting) in
        [(0, "http-port of validator 1"), (5, "validator-listen of validator 3")]
    {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, base + offset)).unwrap();
        let (code, text) = esker(&["network", "run"], &[&network]);
        assert_eq!(code, Some(i32::from(PORT_IN_USE)), "{text}");
        let expected = format!("port in use: {}, the {setting}: ", taken.local_addr().unwrap());
        assert!(text.contains(&expected) && text.contains("--base-port"), "{text}");
        assert!(!text.contains(" | "), "no node was started: {text}");
    }
}

#[test]
fn a_network_of_validators_needs_the_key_of_one_and_its_port() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let base = new_network(&network, 1);
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, base + 1)).unwrap();
    let (code, text) = run(&network, 1, &["node", "--http-port", "0"]);
    assert_eq!(code, Some(i32::from(PORT_IN_USE)), "{text}");
    let expected = format!("port in use: {}: ", other.local_addr().unwrap());
    assert!(text.contains(&expected) && text.contains("--validator-listen"), "{text}");
    let stranger = folder.path().join("stranger");
    write_secret(&stranger, &"00".repeat(32)).unwrap();
    let exposed = folder.path().join("exposed");
    std::fs::copy(network.join("validator-1").join("key"), &exposed).unwrap();
    std::fs::set_permissions(&exposed, Permissions::from_mode(0o644)).unwrap();
    let exposed = exposed.to_str().unwrap().to_owned();
    let stranger = stranger.to_str().unwrap().to_owned();
    let run_as = |args: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["node", "--http-port", "0", "--network"])
            .arg(network.join("network.json"))
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text)
    };
    for (args, expected) in [
        (
            &[][..],
            "has validators: give the key of one (--validator-key), or follow one (--follow)",
        ),
        (&["--validator-key", &stranger], "is not the key of a validator of this network"),
        (&["--validator-key", &exposed], "(mode 0644): give it mode 0600 (chmod 600)"),
        (&["--peer-key", &exposed], "(mode 0644): give it mode 0600 (chmod 600)"),
        (
            &["--validator-key", &stranger, "--follow", "http://127.0.0.1:1"],
            "not with follow: a follower decides nothing",
        ),
    ] {
        let (code, text) = run_as(args);
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}
