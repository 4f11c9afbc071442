//! The keystore of a whole node: logins under load, users deleted while they are used, kills during an import, what
//! is on disk, and where there is no keystore.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use esker_client::{CallError, RpcClient};
use esker_e2e::Node;
use esker_e2e::files::{profile, tests_path};
use esker_e2e::funds::FUNDED;
use serde_json::{Value, json};

use crate::support::local;

const PASSWORD: &str = "Str0ng-Pass-W0rd!";
const KEYSTORE: &str = "/ext/keystore";
const X: &str = "/ext/bc/X";

/// Calls; the error is the message.
fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params).map_err(|error| match error {
        CallError::Rpc { message, .. } => message,
        other => panic!("{path} {method}: {other}"),
    })
}

fn user(name: &str, password: &str) -> Value {
    json!({ "username": name, "password": password })
}

fn with(mut params: Value, name: &str, value: &str) -> Value {
    params[name] = value.into();
    params
}

fn create(node: &Node, name: &str) {
    call(&mut node.rpc(), KEYSTORE, "keystore.createUser", user(name, PASSWORD)).unwrap();
}

fn users(rpc: &mut RpcClient) -> Vec<String> {
    let listed = call(rpc, KEYSTORE, "keystore.listUsers", json!({})).unwrap();
    serde_json::from_value(listed["users"].clone()).unwrap()
}

fn addresses(rpc: &mut RpcClient, name: &str) -> Result<Vec<String>, String> {
    let listed = call(rpc, X, "xvm.listAddresses", user(name, PASSWORD))?;
    Ok(serde_json::from_value(listed["addresses"].clone()).unwrap())
}

#[test]
fn other_methods_answer_while_many_log_in() {
    const LOGINS: usize = 50;
    let node = local().start().unwrap();
    create(&node, "alice");
    let (done, start) = (AtomicUsize::new(0), Barrier::new(LOGINS + 1));
    let mut answered = 0;
    thread::scope(|scope| {
        for n in 0..LOGINS {
            let (node, done, start) = (&node, &done, &start);
            scope.spawn(move || {
                let mut rpc = node.rpc();
                // Every other user is unknown, all passwords are wrong: each costs a hash, none is remembered.
                let name = if n % 2 == 0 { "alice" } else { "nobody" };
                start.wait();
                let wrong = user(name, &format!("wrong {n}"));
                let refused = call(&mut rpc, X, "xvm.listAddresses", wrong).unwrap_err();
                let told = "problem retrieving user \"U\": incorrect password: user \"U\"";
                assert_eq!(refused, told.replace('U', name));
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        start.wait();
        let mut x = node.x();
        while done.load(Ordering::SeqCst) < LOGINS {
            x.get_height().unwrap();
            answered += 1;
        }
    });
    assert!(answered > LOGINS, "{answered} answers during {LOGINS} logins");
}

#[test]
fn more_logins_than_the_queue_holds_are_told_so() {
    const LOGINS: usize = 40;
    let node =
        local().arg("--keystore-hashes-at-once=1").arg("--keystore-hash-queue=1").start().unwrap();
    let (start, busy) = (Barrier::new(LOGINS), AtomicUsize::new(0));
    thread::scope(|scope| {
        for n in 0..LOGINS {
            let (node, start, busy) = (&node, &start, &busy);
            scope.spawn(move || {
                let mut rpc = node.rpc();
                start.wait();
                let wrong = user("nobody", &format!("wrong {n}"));
                let refused = call(&mut rpc, X, "xvm.createAddress", wrong).unwrap_err();
                if refused.contains("keystore is busy") {
                    busy.fetch_add(1, Ordering::SeqCst);
                } else {
                    assert!(refused.ends_with("incorrect password: user \"nobody\""), "{refused}");
                }
            });
        }
    });
    let busy = busy.into_inner();
    assert!(busy > 0 && busy < LOGINS, "{busy} of {LOGINS} were refused as too many");
    // Afterwards there is room again.
    create(&node, "alice");
}

#[test]
fn a_user_deleted_while_it_is_used_is_gone_whole() {
    let node = local().start().unwrap();
    create(&node, "alice");
    let made = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut rpc = node.rpc();
                while call(&mut rpc, X, "xvm.createAddress", user("alice", PASSWORD)).is_ok() {
                    made.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while made.load(Ordering::SeqCst) < 20 {
            thread::yield_now();
        }
        call(&mut node.rpc(), KEYSTORE, "keystore.deleteUser", user("alice", PASSWORD)).unwrap();
    });
    let mut rpc = node.rpc();
    assert!(users(&mut rpc).is_empty());
    assert!(addresses(&mut rpc, "alice").is_err());
    create(&node, "alice");
    assert_eq!(addresses(&mut rpc, "alice").unwrap(), Vec::<String>::new());
}

/// Calls after which the node is killed in each round: at no particular moment of the import.
const ROUNDS: [usize; 10] = [1, 40, 120, 250, 400, 550, 700, 900, 1200, usize::MAX];

#[test]
fn a_kill_during_an_import_leaves_no_user_or_the_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let start = || local().data_dir(folder.path()).start().unwrap();
    let mut node = start();
    create(&node, "alice");
    let mut rpc = node.rpc();
    for _ in 0..60 {
        call(&mut rpc, X, "xvm.createAddress", user("alice", PASSWORD)).unwrap();
    }
    let owned = addresses(&mut rpc, "alice").unwrap();
    let exported =
        call(&mut rpc, KEYSTORE, "keystore.exportUser", user("alice", PASSWORD)).unwrap();
    let exported = exported["user"].as_str().unwrap().to_owned();
    let mut whole = 0;
    for (round, calls) in ROUNDS.into_iter().enumerate() {
        let name = format!("copy {round}");
        let import = with(user(&name, PASSWORD), "user", &exported);
        let mut importing = node.rpc();
        let import = thread::spawn(move || {
            // The node may be gone before it has answered.
            importing.call::<Value>(KEYSTORE, "keystore.importUser", import).is_ok()
        });
        let mut rpc = node.rpc();
        for _ in 0..calls {
            if users(&mut rpc).contains(&name) {
                break;
            }
        }
        node.kill().unwrap();
        let answered = import.join().unwrap();
        node = start();
        let mut rpc = node.rpc();
        if users(&mut rpc).contains(&name) {
            whole += 1;
            assert_eq!(addresses(&mut rpc, &name).unwrap(), owned, "round {round}");
            for address in &owned {
                let export = with(user(&name, PASSWORD), "address", address);
                call(&mut rpc, X, "xvm.exportKey", export).unwrap();
            }
        } else {
            assert!(!answered, "round {round}: told to be there, and is not");
            // The name is free, and nothing is left of the other user.
            create(&node, &name);
            assert_eq!(addresses(&mut rpc, &name).unwrap(), Vec::<String>::new());
        }
    }
    assert!(whole > 0, "the last round waits for the import");
    assert_eq!(addresses(&mut node.rpc(), "alice").unwrap(), owned);
}

#[test]
fn neither_keys_nor_passwords_are_on_disk_or_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let node = local().data_dir(folder.path()).arg("--log-level=verbo").start().unwrap();
    create(&node, "alice");
    let mut rpc = node.rpc();
    let import = with(user("alice", PASSWORD), "privateKey", FUNDED);
    call(&mut rpc, X, "xvm.importKey", import).unwrap();
    let send = json!({
        "username": "alice", "password": PASSWORD, "amount": 1, "assetID": "NAT",
        "to": "X-local1q7nedwpmvgjks36jxfm7kel0xledhg7m5kum8z",
    });
    call(&mut rpc, X, "xvm.send", send).unwrap();
    let output = node.output();
    assert!(node.stop().unwrap().success());
    let key: esker_primitives::PrivateKey = FUNDED.parse().unwrap();
    let secrets = [PASSWORD.as_bytes(), FUNDED.as_bytes(), key.as_bytes()];
    let holds =
        |bytes: &[u8], secret: &[u8]| bytes.windows(secret.len()).any(|part| part == secret);
    assert!(secrets.iter().all(|secret| !holds(output.as_bytes(), secret)));
    let mut files = vec![folder.path().to_owned()];
    let mut looked_at = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        looked_at += 1;
        for secret in secrets {
            assert!(!holds(&bytes, secret), "{}", path.display());
        }
        if path.extension().is_some_and(|e| e == "mdb") {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    }
    assert!(looked_at > 1);
}

#[test]
fn a_public_node_has_no_keystore_and_says_why_once() {
    let node = local().arg("--public").start().unwrap();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "keystore.listUsers" }).to_string();
    for _ in 0..3 {
        let reply = node.rpc().post(KEYSTORE, body.as_bytes()).unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (404, "404 page not found\n"));
    }
    let refused = call(&mut node.rpc(), X, "xvm.createAddress", user("alice", PASSWORD));
    let told = "problem retrieving user \"alice\": incorrect password: user \"alice\"";
    assert_eq!(refused.unwrap_err(), told);
    let output = node.output();
    assert_eq!(output.matches("switched off").count(), 1, "{output}");
    assert!(output.contains("the node is public; set api-keystore-enabled"), "{output}");
}

#[test]
fn a_node_for_strangers_does_not_start_with_a_keystore() {
    let start = |allow: bool| {
        let node = local().arg("--public").arg("--api-keystore-enabled").arg("--http-host=0.0.0.0");
        match allow {
            true => node.arg("--allow-keystore-on-public-address").start(),
            false => node.start(),
        }
    };
    let refused = start(false).unwrap_err().to_string();
    assert!(refused.contains("set allow-keystore-on-public-address"), "{refused}");
    assert!(refused.contains("exit status: 2"), "{refused}");
    start(true).unwrap();
}

#[test]
fn keys_sign_on_every_asset_chain() {
    let network = tests_path("networks/two-chains.json");
    let node = local().network(network).config(profile("default")).start().unwrap();
    create(&node, "alice");
    let mut rpc = node.rpc();
    let import = with(user("alice", PASSWORD), "privateKey", FUNDED);
    for chain in ["X", "Y"] {
        let path = format!("/ext/bc/{chain}");
        let address = call(&mut rpc, &path, "xvm.importKey", import.clone()).unwrap();
        let address = address["address"].as_str().unwrap().to_owned();
        assert!(address.starts_with(&format!("{chain}-local1")), "{address}");
        let send = json!({
            "username": "alice", "password": PASSWORD, "amount": 7, "assetID": "NAT", "to": address,
        });
        for (path, method) in
            [(path.clone(), "xvm.send"), (format!("{path}/wallet"), "wallet.send")]
        {
            let sent = call(&mut rpc, &path, method, send.clone()).unwrap();
            assert_eq!(sent["changeAddr"], address);
            let id = sent["txID"].as_str().unwrap().parse().unwrap();
            crate::support::wait_accepted(&mut node.chain(chain), &id);
        }
    }
}
