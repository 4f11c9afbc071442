//! The admin APIs of node and chain, and profiles of the real process.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use esker_client::HttpReply;
use esker_e2e::Node;
use esker_e2e::hostile::Wire;
use esker_e2e::tables::every_chain_api;
use esker_e2e::until;
use esker_testkit::profile::samples;
use serde_json::{Value, json};

use crate::support::local;

const NODE: &str = "/ext/admin";
const CHAIN: &str = "/ext/bc/C/admin";
const RPC: &str = "/ext/bc/C/rpc";
const HELD: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x00000000000000000000000000000000000000aa";

/// Seconds of the long attack, where the default is too short for it.
const SOAK_SECONDS: &str = "PROFILE_SOAK_SECONDS";

fn start() -> Node {
    local().dev().config(every_chain_api()).arg("--api-admin-enabled").start().unwrap()
}

fn post(node: &Node, path: &str, body: &Value) -> HttpReply {
    node.rpc().post(path, body.to_string().as_bytes()).unwrap()
}

fn ask(node: &Node, path: &str, method: &str, params: Value) -> Value {
    let reply =
        post(node, path, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
    serde_json::from_slice(&reply.body).unwrap()
}

fn done(node: &Node, path: &str, method: &str, params: Value) -> Value {
    let mut reply = ask(node, path, method, params);
    assert!(reply.get("error").is_none(), "{method}: {reply}");
    reply["result"].take()
}

fn refused(node: &Node, path: &str, method: &str, params: Value) -> String {
    let reply = ask(node, path, method, params);
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Clients that send, call and read until they are dropped.
struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(node: &Node) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU64::new(0));
        let bodies = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "evm_sendTransaction", "params": [{"from": HELD, "to": OTHER, "value": "0x1"}]}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "evm_getBlockByNumber", "params": ["latest", true]}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "evm_estimateGas", "params": [{"from": HELD, "to": OTHER, "value": "0x1"}]}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "evm_getLogs", "params": [{"fromBlock": "0x0"}]}),
        ];
        let clients = bodies.map(|body| {
            let (mut rpc, stop, answered) = (node.rpc(), Arc::clone(&stop), Arc::clone(&answered));
            let body = body.to_string();
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let reply = rpc.post(RPC, body.as_bytes()).unwrap();
                    assert_eq!(reply.status, 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self { stop, answered, clients: clients.into() }
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            client.join().unwrap();
        }
    }
}

#[test]
fn profiles_of_node_and_chain_name_our_functions() {
    let node = start();
    let folder = node.data_dir().join("profiles");
    assert!(!folder.exists());
    let load = Load::start(&node);
    for (path, folder) in [(NODE, folder.clone()), (CHAIN, folder.join("C"))] {
        assert_eq!(done(&node, path, "admin.startCPUProfiler", json!({})), json!({}));
        let other = if path == NODE { CHAIN } else { NODE };
        // One at a time over all endpoints; each stops its own.
        for at in [path, other] {
            let error = refused(&node, at, "admin.startCPUProfiler", json!({}));
            assert_eq!(error, "cpu profiler already running");
        }
        let error = refused(&node, RPC, "debug_startCPUProfile", json!(["mine"]));
        assert_eq!(error, "cpu profiling already in use");
        let error = refused(&node, other, "admin.stopCPUProfiler", json!({}));
        assert_eq!(error, "cpu profiler doesn't exist");
        let before = load.answered();
        until("the load was served", || (load.answered() > before + 200).then_some(()));
        assert_eq!(done(&node, path, "admin.stopCPUProfiler", json!({})), json!({}));
        let error = refused(&node, path, "admin.stopCPUProfiler", json!({}));
        assert_eq!(error, "cpu profiler doesn't exist");
        for method in ["admin.memoryProfile", "admin.lockProfile"] {
            assert_eq!(done(&node, path, method, json!({})), json!({}), "{method}");
        }
        assert_eq!(mode(&folder), 0o750);
        for (file, kind) in [("cpu.profile", "cpu"), ("mem.profile", "inuse_space")] {
            let file = folder.join(file);
            assert_eq!(mode(&file), 0o600);
            let samples = samples(&fs::read(&file).unwrap());
            let ours = samples.iter().filter(|(names, values)| {
                values[kind] > 0 && names.iter().any(|name| name.contains("esker_"))
            });
            assert!(ours.count() > 0, "{} has none of our functions", file.display());
        }
        assert_eq!(mode(&folder.join("lock.profile")), 0o600);
        samples(&fs::read(folder.join("lock.profile")).unwrap());
    }
    load.stop();
    assert_eq!(done(&node, NODE, "admin.stacktrace", json!({})), json!({}));
    let stacks = fs::read_to_string(folder.join("stacktrace.txt")).unwrap();
    assert!(stacks.contains("esker_chain::"), "{stacks}");
    assert_eq!(mode(&folder.join("stacktrace.txt")), 0o600);
}

#[test]
fn off_unless_asked_for() {
    let node = local().dev().start().unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "admin.lockProfile"});
    for path in [NODE, CHAIN, "/ext/bc/evm/admin", "/ext/C/admin", "/ext/bc/X/admin"] {
        assert_eq!(post(&node, path, &body).status, 404, "{path}");
    }
    // Without the service there is no such method.
    let node = local().start().unwrap();
    let error = refused(&node, RPC, "debug_memStats", json!([]));
    assert_eq!(error, "the method debug_memStats does not exist/is not available");
}

#[test]
fn folders_and_files_that_clients_name() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let (own, anywhere) = (folder.path().join("own"), folder.path().join("anywhere"));
    for (may, setting) in [(false, ""), (true, "debug-files-anywhere = true\n")] {
        let text = format!(
            "profile-dir = 'here'\n[chains.C]\n{setting}coreth-admin-api-enabled = true\nadmin-api-dir = 'own/a'\n"
        );
        fs::write(&config, text).unwrap();
        let node = local().dev().config(config.clone()).arg("--api-admin-enabled").start().unwrap();
        done(&node, NODE, "admin.memoryProfile", json!({}));
        assert!(folder.path().join("here/mem.profile").is_file());
        done(&node, CHAIN, "admin.memoryProfile", json!({}));
        // The reference's name: the setting is where it begins.
        let chains = own.join("a_coreth_performance_C");
        assert!(chains.join("mem.profile").is_file());
        assert_eq!(mode(&chains), 0o750);
        done(&node, RPC, "debug_writeMemProfile", json!(["named"]));
        assert_eq!(mode(&chains.join("named")), 0o600);
        let outside = anywhere.display().to_string();
        for method in ["debug_writeMemProfile", "debug_writeMutexProfile", "debug_startCPUProfile"]
        {
            let reply = ask(&node, RPC, method, json!([outside]));
            let want = format!("open {outside}: no such file or directory");
            match may {
                true => assert!(reply.get("result").is_some(), "{method}: {reply}"),
                false => assert_eq!(reply["error"]["message"], json!(want), "{method}"),
            }
            let reply = ask(&node, RPC, method, json!(["/nope/dir/file"]));
            assert!(reply.get("error").is_some(), "{method}: {reply}");
        }
        assert_eq!(anywhere.exists(), may);
        let shown = done(&node, CHAIN, "admin.getVMConfig", json!({}));
        assert_eq!(shown["config"]["admin-api-dir"], json!(own.join("a")));
        assert_eq!(shown["config"]["tx-pool-lifetime"], json!("10m0s"));
        assert_eq!(shown["config"]["tx-pool-global-slots"], json!(200_000));
        let shown = done(&node, NODE, "admin.getConfig", json!({}));
        assert_eq!(shown["profile-dir"], json!(folder.path().join("here")));
        assert_eq!(shown["chains"]["C"]["admin-api-enabled"], json!(true));
        assert_eq!(shown["data-dir"], json!(node.data_dir()));
        assert_eq!(shown["http-max-in-flight"], json!(1024));
    }
}

#[test]
fn levels_change_what_is_logged() {
    let node = start();
    let file = node.data_dir().join("logs/C.log");
    let logged = |name: &str| {
        // Logs one line at level debug.
        done(&node, RPC, "debug_writeMutexProfile", json!([name]));
        fs::read_to_string(&file).unwrap_or_default().contains(&format!("file={name}"))
    };
    assert!(!logged("one"));
    done(&node, CHAIN, "admin.setLogLevel", json!({"level": "dbug"}));
    assert!(logged("two"));
    done(&node, CHAIN, "admin.setLogLevel", json!({"level": "Error"}));
    assert!(!logged("three"));
    done(&node, RPC, "debug_verbosity", json!([4]));
    assert!(logged("four"));
    done(&node, RPC, "debug_verbosity", json!([0]));
    assert!(!logged("five"));
    done(&node, RPC, "debug_vmodule", json!(["admin/*=4"]));
    assert!(logged("six"));
    done(&node, RPC, "debug_vmodule", json!([""]));
    assert!(!logged("seven"));
    let levels = done(&node, NODE, "admin.getLoggerLevel", json!({"loggerName": "C"}));
    assert_eq!(levels["loggerLevels"]["C"], json!({"logLevel": "FATAL", "displayLevel": "FATAL"}));
}

/// The lines of a reply of `getLogs`, as `LEVEL LOGGER TEXT`.
fn log_lines(reply: &Value) -> Vec<String> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let lines = reply["lines"].as_array().unwrap().iter();
    let names = ["level", "logger", "text"];
    lines.map(|line| names.map(|name| text(line, name)).join(" ")).collect()
}

#[test]
fn the_newest_log_lines() {
    let node = start();
    let logs = |params: Value| done(&node, NODE, "admin.getLogs", params);
    let all = logs(json!({"limit": 1000}));
    let shown = log_lines(&all);
    let opened = shown.iter().find(|line| line.starts_with("INFO C chain opened id=")).unwrap();
    assert!(opened.ends_with(" height=0"), "{opened}");
    assert!(shown.iter().any(|line| line.starts_with("INFO main starting ")), "{shown:?}");
    for line in all["lines"].as_array().unwrap() {
        assert!(line["module"].as_str().unwrap().starts_with("esker_"), "{line}");
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    assert_eq!(log_lines(&logs(json!({"limit": 1}))), shown[shown.len() - 1..]);
    assert!(log_lines(&logs(json!({"level": "off"}))).is_empty());
    // A reader that continues gets each line once, those of one logger and level only.
    let next = |reply: &Value| reply["next"].clone();
    let at = logs(json!({"limit": 1000}));
    assert_eq!(logs(json!({"after": next(&at), "loggerName": "C"}))["lines"], json!([]));
    done(&node, NODE, "admin.setLoggerLevel", json!({"loggerName": "C", "logLevel": "debug"}));
    for name in ["one", "two", "three"] {
        done(&node, RPC, "debug_writeMutexProfile", json!([name]));
    }
    let (mut after, mut lines) = (next(&at), Vec::new());
    loop {
        let params = json!({"after": after, "loggerName": "C", "level": "debug", "limit": 1});
        let page = logs(params);
        after = next(&page);
        match &log_lines(&page)[..] {
            [] => break,
            [line] => lines.push(line.clone()),
            more => panic!("more than the limit: {more:?}"),
        }
    }
    // Each call is a line by itself, too.
    let profiles = lines.iter().filter(|line| line.contains(" file="));
    let names =
        profiles.map(|line| line.rsplit_once("file=").unwrap().1.split(' ').next().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["one", "two", "three"], "{lines:?}");
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("DEBUG C ")), "{lines:?}");
    for params in [json!({"level": "info"}), json!({"loggerName": "X"})] {
        let mut params = params;
        params["after"] = next(&at);
        assert_eq!(logs(params.clone())["lines"], json!([]), "{params}");
    }
    let error = refused(&node, NODE, "admin.getLogs", json!({"limit": 1001}));
    assert_eq!(error, "limit: expected a number from 1 to 1000");
    let error = refused(&node, NODE, "admin.getLogs", json!({"loggerName": "Y"}));
    assert_eq!(error, "logger with name \"Y\" not found");
}

/// Clients decide about texts in the log: paths of their requests, aliases, names of methods.
#[test]
fn hostile_log_lines_are_escaped_and_bounded() {
    let node = start();
    done(&node, NODE, "admin.setLoggerLevel", json!({"logLevel": "verbo"}));
    let evil = "<img src=x onerror=alert(1)>\u{202e}gnp.exe\u{7}\n";
    let long = "long\u{202e} ".repeat(6000);
    for text in [evil, &long] {
        for (path, method, params) in [
            (RPC, text, json!([])),
            (RPC, "debug_setHead", json!([text])),
            (NODE, text, json!({})),
            (NODE, "admin.alias", json!({"endpoint": text, "alias": text})),
            (CHAIN, "admin.setLogLevel", json!({"level": text})),
            ("/ext/bc/X", "xvm.getTx", json!({"txID": text})),
        ] {
            ask(&node, path, method, params);
        }
        let start: String = text.chars().take(500).collect();
        let escaped: String = start.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(post(&node, &format!("/ext/bc/{escaped}"), &json!({})).status, 404);
    }
    let reply = post(
        &node,
        NODE,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "admin.getLogs", "params": {"limit": 1000}}),
    );
    // 1 MiB of texts, of which JSON may escape some characters, and the other members.
    assert!(reply.body.len() < 3 * 1024 * 1024, "{}", reply.body.len());
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    let lines = log_lines(&reply["result"]);
    assert!(lines.len() > 10, "{lines:?}");
    for line in &lines {
        assert!(line.len() <= 4096 + 20, "{} bytes", line.len());
        let bad = line.chars().find(|c| c.is_control() || *c == '\u{202e}');
        assert_eq!(bad, None, "{line}");
    }
}

/// The node in the place of another one has the levels and the lines of the process.
#[test]
fn the_log_goes_on_after_a_reset_to_another_chain() {
    let source = local().evm().start().unwrap();
    let node = local().evm().temporary().arg("--api-admin-enabled").start().unwrap();
    let logs = |params: Value| log_lines(&done(&node, NODE, "admin.getLogs", params));
    let before = logs(json!({"limit": 1000}));
    let url = format!("http://{}", source.address());
    done(&node, "/", "anvil_reset", json!([{ "forking": { "jsonRpcUrl": url } }]));
    let has_gone_on = || {
        let lines = logs(json!({"limit": 1000}));
        let place = lines.iter().any(|line| line.contains("another chain has taken the place"));
        (place && lines.len() > before.len()).then_some(lines)
    };
    let lines = until("the reset is in the log", has_gone_on);
    assert_eq!(lines[..before.len()], before);
    done(&node, NODE, "admin.setLoggerLevel", json!({"logLevel": "debug"}));
    done(&node, "/", "eth_chainId", json!([]));
    let requests = logs(json!({"level": "debug"}));
    assert!(requests.iter().any(|line| line.contains("method=chainId")), "{requests:?}");
}

#[test]
fn settings_with_their_origins() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    fs::write(&config, "native-aliases = ['NAT']\n[chains.X]\nlog-level = 'warn'\n").unwrap();
    let node = local().dev().config(config.clone()).arg("--api-admin-enabled").start().unwrap();
    let shown = done(&node, NODE, "admin.getSettings", json!({}));
    let settings = shown["settings"].as_array().unwrap();
    let setting = |name: &str| settings.iter().find(|one| one["name"] == json!(name)).unwrap();
    for (name, value, default, origin, place) in [
        ("api-admin-enabled", json!(true), json!(false), "flag", json!("--api-admin-enabled")),
        (
            "native-aliases",
            json!(["NAT"]),
            json!(["NAT", "AVAX"]),
            "file",
            json!(format!("{}:1", config.display())),
        ),
        ("http-max-in-flight", json!(1024), json!(1024), "default", json!(null)),
        ("log-display-level", json!("warn"), json!("warn"), "dev", json!(null)),
        (
            "chains.X.log-level",
            json!("warn"),
            json!(""),
            "file",
            json!(format!("{}:3", config.display())),
        ),
    ] {
        let want = json!({"name": name, "value": value, "default": default, "origin": origin, "place": place});
        assert_eq!(*setting(name), want);
    }
    assert_eq!(setting("data-dir")["value"], json!(node.data_dir()));
    // Each setting of the node is there once, as in getConfig.
    let config = done(&node, NODE, "admin.getConfig", json!({}));
    let of_node =
        settings.iter().filter(|one| !one["name"].as_str().unwrap().starts_with("chains."));
    assert_eq!(of_node.count() + 1, config.as_object().unwrap().len());
}

/// Four clients begin and end profiles as fast as they can, a fifth asks for timed ones and leaves, while others use the
/// node. All calls are answered, and in the end a profile can be taken.
#[test]
fn an_attack_on_the_profiler() {
    let node = start();
    let seconds = std::env::var(SOAK_SECONDS).map_or(4, |text| text.parse().unwrap());
    let load = Load::start(&node);
    let end = Instant::now() + Duration::from_secs(seconds);
    let attackers: Vec<JoinHandle<BTreeSet<String>>> = (0..4)
        .map(|n| {
            let mut rpc = node.rpc();
            thread::spawn(move || {
                let mut errors = BTreeSet::new();
                let methods: &[(&str, &str, Value)] = match n {
                    0 => &[
                        (NODE, "admin.startCPUProfiler", json!({})),
                        (NODE, "admin.stopCPUProfiler", json!({})),
                    ],
                    1 => &[
                        (CHAIN, "admin.startCPUProfiler", json!({})),
                        (CHAIN, "admin.stopCPUProfiler", json!({})),
                        (CHAIN, "admin.lockProfile", json!({})),
                    ],
                    2 => &[
                        (RPC, "debug_startCPUProfile", json!(["two"])),
                        (RPC, "debug_stopCPUProfile", json!([])),
                        (RPC, "debug_stacks", json!([])),
                    ],
                    _ => &[
                        (RPC, "debug_startCPUProfile", json!(["three"])),
                        (RPC, "debug_stopCPUProfile", json!([])),
                        (RPC, "debug_writeMemProfile", json!(["heap"])),
                        (RPC, "debug_memStats", json!([])),
                    ],
                };
                while Instant::now() < end {
                    for (path, method, params) in methods {
                        let body =
                            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                        let reply = rpc.post(path, body.to_string().as_bytes()).unwrap();
                        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
                        errors.extend(reply["error"]["message"].as_str().map(str::to_owned));
                    }
                }
                errors
            })
        })
        .collect();
    while Instant::now() < end {
        for method in ["debug_cpuProfile", "debug_mutexProfile"] {
            let mut wire = Wire::open(node.address()).unwrap();
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": ["left", 20]});
            wire.post(RPC, &body.to_string()).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
    }
    let known = BTreeSet::from([
        "cpu profiler already running",
        "cpu profiler doesn't exist",
        "cpu profiling already in use",
        "CPU profiling already in progress",
        "CPU profiling not in progress",
    ]);
    for attacker in attackers {
        let errors = attacker.join().unwrap();
        assert!(errors.iter().all(|error| known.contains(error.as_str())), "{errors:?}");
    }
    let before = load.answered();
    until("the node still answers", || (load.answered() > before + 50).then_some(()));
    load.stop();
    // Whoever left has left nothing behind.
    for stop in [(NODE, "admin.stopCPUProfiler"), (CHAIN, "admin.stopCPUProfiler")] {
        let _ended = ask(&node, stop.0, stop.1, json!({}));
    }
    let _ended = ask(&node, RPC, "debug_stopCPUProfile", json!([]));
    until("a profile can be taken", || {
        ask(&node, RPC, "debug_cpuProfile", json!(["last", 0])).get("result").cloned()
    });
    let folder: PathBuf = node.data_dir().join("profiles/C");
    assert!(folder.join("last").is_file());
    assert!(!folder.join("left").exists());
    let hidden = fs::read_dir(&folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0, "unfinished files are left");
}

#[test]
fn a_timed_profile_takes_its_time_and_no_thread_of_others() {
    let node = start();
    let begun = Instant::now();
    let waits = {
        let mut rpc = node.rpc();
        thread::spawn(move || {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "debug_cpuProfile", "params": ["timed", 2]});
            let reply = rpc.post(RPC, body.to_string().as_bytes()).unwrap();
            serde_json::from_slice::<Value>(&reply.body).unwrap()
        })
    };
    until("it runs", || {
        let threads = done(&node, RPC, "debug_stacks", json!([]));
        threads.as_str().filter(|text| text.contains("\"cpu profile\"")).map(|_| ())
    });
    let error = refused(&node, RPC, "debug_cpuProfile", json!(["other", 0]));
    assert_eq!(error, "another call takes a profile already");
    assert_eq!(waits.join().unwrap()["result"], Value::Null);
    assert!(begun.elapsed() >= Duration::from_secs(2));
    let folder = node.data_dir().join("profiles/C");
    assert!(folder.join("timed").is_file());
    let error = refused(&node, RPC, "debug_cpuProfile", json!(["timed", 26]));
    assert!(error.starts_with("a profile of one call takes at most 25 seconds"), "{error}");

    // Killed while a profile runs, and started again on the same folder.
    let data = tempfile::tempdir().unwrap();
    let again = || {
        let node = local().dev().data_dir(data.path()).arg("--api-admin-enabled");
        node.start().unwrap()
    };
    let node = again();
    done(&node, NODE, "admin.startCPUProfiler", json!({}));
    node.kill().unwrap();
    let node = again();
    assert_eq!(
        refused(&node, NODE, "admin.stopCPUProfiler", json!({})),
        "cpu profiler doesn't exist"
    );
    done(&node, NODE, "admin.startCPUProfiler", json!({}));
    done(&node, NODE, "admin.stopCPUProfiler", json!({}));
    assert!(data.path().join("profiles/cpu.profile").is_file());
}
