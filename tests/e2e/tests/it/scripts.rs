//! Tracers in JavaScript on a whole node: processes of their own, and what hostile scripts come to.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use esker_client::RpcClient;
use esker_e2e::hostile::Wire;
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::local;

const PATH: &str = "/ext/bc/C/rpc";
const TO: &str = "0x00000000000000000000000000000000000000aa";
/// Calls a contract that reverts: PUSH0 x 5, PUSH1 0xbb, GAS, CALL.
const CALLER: &str = "0x5f5f5f5f5f60bb5af1";
const CALLED: &str = "0x00000000000000000000000000000000000000bb";

fn trace(rpc: &mut RpcClient, tracer: &str, timeout: &str) -> Result<Value, String> {
    let code = json!({ TO: { "code": CALLER }, CALLED: { "code": "0x5f5ffd" } });
    let config = json!({ "tracer": tracer, "timeout": timeout, "stateOverrides": code });
    let params = json!([{ "to": TO, "gas": "0xfffff" }, "latest", config]);
    rpc.call(PATH, "debug_traceCall", params).map_err(|error| error.to_string())
}

/// The processes that a node has started.
fn children(node: &Node) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", node.pid())).unwrap();
    let of = |task: &Path| fs::read_to_string(task.join("children")).unwrap_or_default();
    let text: String = tasks.map(|task| of(&task.unwrap().path()) + " ").collect();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn assert_no_children(node: &Node) {
    until("no process of a script is left", || children(node).is_empty().then_some(()));
}

/// A script whose hook does this.
fn with(hook: &str, body: &str) -> String {
    let hooks = ["step", "fault", "enter", "exit", "result"].map(|name| {
        let body = if name == hook { body } else { "return 1" };
        format!("{name}:function(log,db){{{body}}}")
    });
    format!("{{{}}}", hooks.join(","))
}

#[test]
fn scripts_run_where_they_are_allowed() {
    let dev = local().dev().start().unwrap();
    let mut rpc = dev.rpc();
    let ops = "{ops:[],step:function(l){this.ops.push(l.op.toString())},fault:function(){},\
               result:function(c,db){return [this.ops.length,db.exists(c.to)]}}";
    assert_eq!(trace(&mut rpc, ops, "5s"), Ok(json!([12, true])));
    assert_eq!(trace(&mut rpc, "opcountTracer", "5s"), Ok(json!(12)));
    assert!(trace(&mut rpc, "nope", "5s").unwrap_err().contains("ReferenceError: nope"));
    assert_no_children(&dev);

    let config = dev.scratch().join("node.toml");
    fs::write(&config, "[chains.C]\neth-apis = [\"eth\", \"debug-tracer\"]\n").unwrap();
    let node = local().config(&config).start().unwrap();
    let mut rpc = node.rpc();
    assert_eq!(trace(&mut rpc, "opcountTracer", "5s"), Ok(json!(12)));
    let text = trace(&mut rpc, ops, "5s").unwrap_err();
    assert!(text.contains("tracer-scripts-enabled"), "{text}");
    assert!(trace(&mut rpc, "nope", "5s").unwrap_err().contains("ReferenceError: nope"));
}

#[test]
fn timed_endless_scripts_end_at_their_time() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let endless = "while(true){}";
    let mut scripts: Vec<String> =
        ["step", "fault", "enter", "exit", "result"].map(|hook| with(hook, endless)).into();
    scripts.extend([
        with("step", "while(true){try{while(true){}}catch(e){}}"),
        with("step", "/(a+)+$/.test('a'.repeat(64)+'b')"),
        with("step", "throw {toString:function(){while(true){}}}"),
        with("result", "return {toJSON:function(){while(true){}}}"),
        with("result", "return {get a(){while(true){}}}"),
        "(function(){while(true){}})()".to_owned(),
        "{setup:function(){while(true){}},fault:function(){},result:function(){}}".to_owned(),
    ]);
    for script in scripts {
        let begun = Instant::now();
        let text = trace(&mut rpc, &script, "300ms").unwrap_err();
        assert!(text.contains("execution timeout"), "{script}: {text}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{script}");
    }
    assert_no_children(&node);
}

#[test]
fn greedy_scripts_get_an_error() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    for script in [
        with("step", "var a=[];while(true)a.push(new Array(100000).fill(1))"),
        with("step", "var a=[];while(true)a.push(new Uint8Array(1000000))"),
        with("step", "var a=[];while(true)a.push(log.memory.slice(0,1000000))"),
        with("step", "var s='x';while(true)s+=s"),
        with("step", "(function f(){f()})()"),
        with("step", "bigInt(2).pow(1e9)"),
        with("result", "return 'x'.repeat(100000000)"),
        with("result", "return new Array(30000000).fill(1)"),
        with("result", "throw 'x'.repeat(50000000)"),
    ] {
        let text = trace(&mut rpc, &script, "20s").unwrap_err();
        assert!(text.len() < 100_000, "{script}: {} bytes", text.len());
        assert!(!text.contains("died"), "{script}: {text}");
    }
    // A script that breaks what its process is made of breaks nothing else.
    assert_eq!(trace(&mut rpc, "opcountTracer", "5s"), Ok(json!(12)));
    assert_no_children(&node);
}

#[test]
fn timed_a_crowd_of_endless_scripts_leaves_the_node_answering() {
    let node = local().dev().start().unwrap();
    let script = with(
        "step",
        "var a=[];for(var i=0;i<9;i++)a.push(new Array(1000000).fill(i));while(true){}",
    );
    let most = thread::available_parallelism().unwrap().get().max(2);
    thread::scope(|scope| {
        for _ in 0..50 {
            let mut rpc = node.rpc();
            let script = &script;
            scope.spawn(move || {
                let text = trace(&mut rpc, script, "500ms").unwrap_err();
                assert!(text.contains("execution timeout"), "{text}");
            });
        }
        let begun = Instant::now();
        let mut rpc = node.rpc();
        let (mut longest, mut crowd, mut largest_kib) = (Duration::ZERO, 0, 0);
        while begun.elapsed() < Duration::from_secs(4) {
            let called = Instant::now();
            let _: Value = rpc.call(PATH, "eth_blockNumber", json!([])).unwrap();
            let _: Value = rpc.call("/ext/bc/X", "avm.getHeight", json!({})).unwrap();
            longest = longest.max(called.elapsed());
            let running = children(&node);
            crowd = crowd.max(running.len());
            assert!(running.len() <= most, "{} processes", running.len());
            for pid in running {
                let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
                // Just forked it still is the node.
                if !file("cmdline").is_ok_and(|line| line.contains("run-scripts")) {
                    continue;
                }
                let status = file("status").unwrap_or_default();
                let line = status.lines().find(|line| line.starts_with("VmPeak"));
                let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
                assert!(kib.unwrap_or_default() <= 512 << 10, "{status}");
                largest_kib = largest_kib.max(kib.unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(20));
        }
        assert!(crowd > 0 && largest_kib > 0);
        println!(
            "{crowd} processes at most, of {largest_kib} KiB address space; the longest pair of calls took {longest:?}"
        );
        assert!(longest < Duration::from_secs(1), "{longest:?}");
    });
    assert_no_children(&node);
}

/// A trace by a script that takes a minute.
fn endless_trace() -> Value {
    let script = with("step", "while(true){}");
    json!({ "jsonrpc": "2.0", "id": 1, "method": "debug_traceCall",
        "params": [{ "to": TO }, "latest", { "tracer": script, "timeout": "60s",
            "stateOverrides": { TO: { "code": CALLER } } }] })
}

#[test]
fn long_scripts_of_one_client_leave_a_place_for_others() {
    let node = local().dev().start().unwrap();
    let places = thread::available_parallelism().unwrap().get().max(2);
    let body = endless_trace().to_string();
    let send = || {
        let mut wire = Wire::open_from([127, 0, 0, 2].into(), node.address()).unwrap();
        wire.post(PATH, &body).unwrap();
        wire
    };
    let others: Vec<Wire> = (0..2 * places).map(|_| send()).collect();
    until("all places are taken", || (children(&node).len() == places).then_some(()));
    let mut rpc = node.rpc();
    for _ in 0..3 {
        let begun = Instant::now();
        // Less than the others have.
        assert_eq!(trace(&mut rpc, "opcountTracer", "20s"), Ok(json!(12)));
        println!("a script of another client took {:?}", begun.elapsed());
    }
    drop(others);
    assert_no_children(&node);
}

#[test]
fn a_process_ends_with_its_client_and_with_its_node() {
    let node = local().dev().start().unwrap();
    let body = endless_trace();
    let send = || {
        use std::io::Write as _;
        let mut stream = std::net::TcpStream::connect(node.address()).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        until("the script runs", || (!children(&node).is_empty()).then_some(()));
        stream
    };
    drop(send());
    assert_no_children(&node);
    let _stream = send();
    let left = children(&node);
    node.kill().unwrap();
    until("the process is gone", || {
        let is_gone = |pid: &u32| !Path::new(&format!("/proc/{pid}/status")).exists();
        left.iter().all(is_gone).then_some(())
    });
}
