//! Accounts with passwords of a whole node: guesses under load, kills while an account is made, what is on disk, and
//! where there are none.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker_client::{HttpClient, RpcClient};
use esker_e2e::files::profile;
use esker_e2e::{Node, NodeBuilder};
use serde_json::{Value, json};

use crate::support::local;

const RPC: &str = "/ext/bc/C/rpc";
const PASSWORD: &str = "A-Passw0rd to be found";
/// An account of `esker dev`.
const OF_DEV: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const FORBIDDEN: &str = "account unlock with HTTP access is forbidden";

/// A node of the local network that serves `personal`.
fn with_personal() -> NodeBuilder {
    local().config(profile("default"))
}

/// Calls; the error is the message. `None`: the node has gone.
fn try_call(rpc: &mut RpcClient, method: &str, params: &Value) -> Option<Result<Value, String>> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let reply = rpc.post(RPC, body.to_string().as_bytes()).ok()?;
    let reply: Value = serde_json::from_slice(&reply.body).ok()?;
    Some(match reply["error"]["message"].as_str() {
        Some(message) => Err(message.to_owned()),
        None => Ok(reply["result"].clone()),
    })
}

fn call(rpc: &mut RpcClient, method: &str, params: &Value) -> Result<Value, String> {
    try_call(rpc, method, params).unwrap()
}

fn new_account(rpc: &mut RpcClient) -> String {
    let account = call(rpc, "personal_newAccount", &json!([PASSWORD])).unwrap();
    account.as_str().unwrap().to_owned()
}

fn accounts(rpc: &mut RpcClient) -> Vec<String> {
    let listed = call(rpc, "personal_listAccounts", &json!([])).unwrap();
    serde_json::from_value(listed).unwrap()
}

fn sign(rpc: &mut RpcClient, account: &str) -> Result<Value, String> {
    call(rpc, "eth_sign", &json!([account, "0x68"]))
}

/// Guesses in a loop, each time the password of another account; counts the answers that came from a check, and those
/// that came without one.
fn guess(node: &Node, accounts: &[String], end: &AtomicBool, counts: &[AtomicUsize; 2]) {
    let mut rpc = node.rpc();
    let methods = ["personal_unlockAccount", "personal_sign", "personal_sendTransaction"];
    let each = methods.into_iter().flat_map(|method| accounts.iter().map(move |a| (method, a)));
    for (method, account) in each.collect::<Vec<_>>().into_iter().cycle() {
        if end.load(Ordering::Relaxed) {
            return;
        }
        let params = match method {
            "personal_unlockAccount" => json!([account, "wrong"]),
            "personal_sign" => json!(["0x68", account, "wrong"]),
            _ => json!([{ "from": account, "to": account, "gas": "0x5208" }, "wrong"]),
        };
        let refused = call(&mut rpc, method, &params).unwrap_err();
        let checked = "could not decrypt key with given password";
        let slowed = format!("too many wrong passwords for account {account} from this address");
        if refused == checked {
            counts[0].fetch_add(1, Ordering::Relaxed);
        } else {
            assert!(refused.starts_with(&slowed), "{method}: {refused}");
            counts[1].fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn guesses_are_slowed_and_delay_nobody() {
    const CLIENTS: usize = 4;
    /// How long they go on once they are slowed.
    const LASTS: Duration = Duration::from_secs(8);
    const DEADLINE: Duration = Duration::from_secs(240);
    const UNLOCKED: Duration = Duration::from_secs(3);
    /// The longest wait of others.
    const LONGEST: Duration = Duration::from_secs(1);
    let node = with_personal().start().unwrap();
    let mut rpc = node.rpc();
    let [unlocked, guessed] = [(); 2].map(|()| new_account(&mut rpc));
    let end = AtomicBool::new(false);
    let counts = [(); 2].map(|()| AtomicUsize::new(0));
    let (mut longest, mut answered, mut signed) = (Duration::ZERO, 0, 0);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| guess(&node, std::slice::from_ref(&guessed), &end, &counts));
        }
        let unlock = json!([unlocked, PASSWORD, UNLOCKED.as_secs()]);
        assert_eq!(call(&mut rpc, "personal_unlockAccount", &unlock), Ok(true.into()));
        let locks = Instant::now() + UNLOCKED;
        let (mut x, begun) = (node.x(), Instant::now());
        let (mut is_locked, mut slowed_since) = (false, None);
        while slowed_since.is_none_or(|since: Instant| since.elapsed() < LASTS) {
            assert!(begun.elapsed() < DEADLINE, "not slowed yet");
            if slowed_since.is_none() && counts[1].load(Ordering::Relaxed) > 0 {
                slowed_since = Some(Instant::now());
            }
            let sent = Instant::now();
            x.get_height().unwrap();
            let between = Instant::now();
            call(&mut rpc, "evm_blockNumber", &json!([])).unwrap();
            longest = longest.max(between - sent).max(between.elapsed());
            answered += 1;
            // It ends at its time, whatever else is done.
            let sent = Instant::now();
            match sign(&mut rpc, &unlocked) {
                Ok(_) => {
                    assert!(sent < locks && !is_locked, "{:?} too late", sent - locks);
                    signed += 1;
                }
                Err(text) => {
                    assert_eq!(text, "authentication needed: password or unlock");
                    is_locked = true;
                }
            }
        }
        end.store(true, Ordering::Relaxed);
        assert!(is_locked && signed > 0, "{signed}");
    });
    let [checked, slowed] = counts.map(AtomicUsize::into_inner);
    println!(
        "{checked} guesses checked, {slowed} refused, {answered} answers, the longest {longest:?}"
    );
    assert!(longest < LONGEST, "a client waited {longest:?}");
    // Sixteen, one for each minute that this may take, and after waits of 1, 2, 4 and 8 seconds four more.
    assert!((16..=24).contains(&checked), "{checked}");
    assert!(slowed > 0 && answered > 100, "{slowed} {answered}");
    // The right password, too, waits its time; the other account is not concerned.
    let right = |account: &str| json!(["0x68", account, PASSWORD]);
    let refused = call(&mut rpc, "personal_sign", &right(&guessed)).unwrap_err();
    assert!(refused.starts_with("too many wrong passwords"), "{refused}");
    call(&mut rpc, "personal_sign", &right(&unlocked)).unwrap();
}

/// The longest time that a test waits: a hash takes long in a build that is not optimized, on a machine under load.
const PATIENCE: Duration = Duration::from_secs(600);

/// A call of one of the clients behind a proxy; `None`: the node has gone.
fn call_of(node: SocketAddr, client: &str, method: &str, params: &Value) -> Option<Value> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let headers = [("Content-Type", "application/json"), ("X-Real-IP", client)];
    let mut http = HttpClient::new(node).with_timeout(PATIENCE);
    let reply = http.request("POST", RPC, &headers, body.to_string().as_bytes()).ok()?;
    serde_json::from_slice(&reply.body).ok()
}

#[test]
fn an_account_is_unlocked_beside_any_number_of_new_ones() {
    const CALLS: usize = 40;
    let (many, owner) = ("192.0.2.1", "192.0.2.2");
    let node = with_personal().arg("--http-client-address-header=X-Real-IP");
    let node = node.arg("--http-trusted-proxies=127.0.0.1").arg("--keystore-hash-wait=10m");
    let node = node.start().unwrap();
    let waiting = || {
        let page = node.rpc().http().request("GET", "/ext/metrics", &[], &[]).unwrap().text();
        let name = "esker_password_hashes_waiting{keys=\"accounts\"} ";
        let line = page.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.parse::<usize>().unwrap()
    };
    let address = node.address();
    let account = call_of(address, owner, "personal_newAccount", &json!([PASSWORD])).unwrap();
    let answered = Arc::new(AtomicUsize::new(0));
    let make = || {
        let answered = Arc::clone(&answered);
        thread::spawn(move || {
            let _reply = call_of(address, many, "personal_newAccount", &json!([PASSWORD]));
            answered.fetch_add(1, Ordering::Relaxed);
        })
    };
    let makers: Vec<_> = (0..CALLS).map(|_| make()).collect();
    let begun = Instant::now();
    while waiting() + answered.load(Ordering::Relaxed) < CALLS - 1 {
        assert!(begun.elapsed() < PATIENCE, "the calls do not wait: {}", waiting());
    }
    let before = answered.load(Ordering::Relaxed);
    let params = json!([account["result"], PASSWORD]);
    let unlocked = call_of(address, owner, "personal_unlockAccount", &params).unwrap();
    let meanwhile = answered.load(Ordering::Relaxed) - before;
    assert_eq!(unlocked["result"], true, "{unlocked}");
    // The one that ran, and one whose answer was on its way.
    assert!(meanwhile <= 2, "{meanwhile} of {CALLS} calls of another client came first");
    // The others' end is not waited for.
    node.kill().unwrap();
    makers.into_iter().for_each(|maker| maker.join().unwrap());
}

#[test]
fn timed_new_accounts_in_a_loop_delay_nobody() {
    const CLIENTS: usize = 4;
    let node = with_personal().start().unwrap();
    let (end, mut longest) = (AtomicBool::new(false), Duration::ZERO);
    let mut made = thread::scope(|scope| {
        let makers: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let (mut rpc, mut made) = (node.rpc(), Vec::new());
                    while !end.load(Ordering::Relaxed) {
                        made.push(new_account(&mut rpc).to_lowercase());
                    }
                    made
                })
            })
            .collect();
        let (mut rpc, mut x, begun) = (node.rpc(), node.x(), Instant::now());
        while begun.elapsed() < Duration::from_secs(8) {
            let sent = Instant::now();
            x.get_height().unwrap();
            let between = Instant::now();
            call(&mut rpc, "evm_blockNumber", &json!([])).unwrap();
            longest = longest.max(between - sent).max(between.elapsed());
        }
        end.store(true, Ordering::Relaxed);
        makers.into_iter().flat_map(|maker| maker.join().unwrap()).collect::<Vec<_>>()
    });
    println!("{} accounts, the longest answer {longest:?}", made.len());
    assert!(longest < Duration::from_secs(1), "a client waited {longest:?}");
    let mut listed = accounts(&mut node.rpc());
    made.sort();
    listed.sort();
    assert_eq!(made, listed);
}

/// After how many other calls the node is killed; in the last round it is when the account is there.
const ROUNDS: [usize; 6] = [0, 200, 800, 1600, 3000, usize::MAX];

#[test]
fn an_account_that_was_answered_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let start = || with_personal().data_dir(folder.path()).start().unwrap();
    let mut node = start();
    let mut kept = vec![new_account(&mut node.rpc()).to_lowercase()];
    for calls in ROUNDS {
        let mut making = node.rpc();
        let make = thread::spawn(move || {
            // The node may be gone before it has answered.
            let made = try_call(&mut making, "personal_newAccount", &json!([PASSWORD]))?;
            Some(made.unwrap().as_str().unwrap().to_lowercase())
        });
        let mut rpc = node.rpc();
        for _ in 0..calls {
            if make.is_finished() || accounts(&mut rpc).len() > kept.len() {
                break;
            }
        }
        node.kill().unwrap();
        let answered = make.join().unwrap();
        node = start();
        let listed = accounts(&mut node.rpc());
        assert_eq!(listed[..kept.len()], kept, "after {calls} calls");
        if let Some(account) = &answered {
            assert_eq!(listed.last(), Some(account), "after {calls} calls: answered, but missing");
        }
        // The files that exist are complete.
        for account in &listed[kept.len()..] {
            let params = json!(["0x68", account, PASSWORD]);
            call(&mut node.rpc(), "personal_sign", &params).unwrap();
        }
        kept = listed;
        for entry in std::fs::read_dir(folder.path().join("keystore")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.starts_with("UTC--"), "{name} is left");
        }
    }
    assert!(kept.len() > 1, "the last round waits for the account");
}

#[test]
fn neither_keys_nor_passwords_are_on_disk_or_in_the_log() {
    const KEY: &str = "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90";
    let folder = tempfile::tempdir().unwrap();
    let node = with_personal().data_dir(folder.path()).arg("--log-level=verbo").start().unwrap();
    let mut rpc = node.rpc();
    let account = call(&mut rpc, "personal_importRawKey", &json!([KEY, PASSWORD])).unwrap();
    call(&mut rpc, "personal_unlockAccount", &json!([account, PASSWORD])).unwrap();
    call(&mut rpc, "personal_sign", &json!(["0x68", account, PASSWORD])).unwrap();
    for (method, params) in [
        ("personal_sign", json!(["0x68", account, format!("{PASSWORD}!")])),
        ("personal_unlockAccount", json!([account, PASSWORD, PASSWORD])),
        ("personal_importRawKey", json!([KEY, PASSWORD])),
        ("personal_importRawKey", json!([format!("{KEY}{KEY}"), PASSWORD])),
        ("personal_sendTransaction", json!([{ "from": account }, PASSWORD])),
    ] {
        let refused = call(&mut rpc, method, &params).unwrap_err();
        assert!(!refused.contains(PASSWORD) && !refused.contains(KEY), "{method}: {refused}");
    }
    let output = node.output();
    assert!(node.stop().unwrap().success());
    let raw: Vec<u8> = (0..KEY.len() / 2)
        .map(|n| u8::from_str_radix(&KEY[2 * n..2 * n + 2], 16).unwrap())
        .collect();
    let secrets = [PASSWORD.as_bytes(), KEY.as_bytes(), &raw];
    let holds = |bytes: &[u8]| {
        let found = |secret: &&&[u8]| bytes.windows(secret.len()).any(|part| part == **secret);
        secrets.iter().find(found).is_some()
    };
    assert!(!holds(output.as_bytes()));
    let mut looked_at = 0;
    walk(folder.path(), &mut |file| {
        looked_at += 1;
        assert!(!holds(&std::fs::read(file).unwrap()), "{}", file.display());
    });
    assert!(looked_at > 2);
    let keys = folder.path().join("keystore");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&keys), 0o700);
    walk(&keys, &mut |file| assert_eq!(mode(file), 0o600));
}

fn walk(folder: &Path, file: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, file) } else { file(&path) }
    }
}

#[test]
fn dev_has_accounts_of_both_kinds() {
    let node = local().dev().temporary().start().unwrap();
    let mut rpc = node.rpc();
    let known = accounts(&mut rpc);
    assert!(known.contains(&OF_DEV.to_owned()));
    let account = new_account(&mut rpc);
    assert_eq!(accounts(&mut rpc).last(), Some(&account.to_lowercase()));
    assert_eq!(call(&mut rpc, "eth_accounts", &json!([])).unwrap(), json!(accounts(&mut rpc)));
    // The public ones need no password and can't be locked; the other one needs its own.
    assert_eq!(call(&mut rpc, "personal_lockAccount", &json!([OF_DEV])), Ok(false.into()));
    call(&mut rpc, "personal_sign", &json!(["0x68", OF_DEV])).unwrap();
    sign(&mut rpc, OF_DEV).unwrap();
    sign(&mut rpc, &account).unwrap_err();
    let missing = call(&mut rpc, "personal_sign", &json!(["0x68", account])).unwrap_err();
    assert_eq!(missing, "missing value for required argument 2");
    // It pays, too.
    let gift = json!([{ "from": OF_DEV, "to": account, "value": "0xde0b6b3a7640000" }, ""]);
    call(&mut rpc, "personal_sendTransaction", &gift).unwrap();
    let balance = json!([account, "latest"]);
    esker_e2e::until("the gift is there", || {
        (call(&mut rpc, "eth_getBalance", &balance).unwrap() != json!("0x0")).then_some(())
    });
    let back = json!([{ "from": account, "to": OF_DEV, "value": "0x1" }, PASSWORD]);
    call(&mut rpc, "personal_sendTransaction", &back).unwrap();
    // A key that the node has anyway.
    let known_key = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    let again = call(&mut rpc, "personal_importRawKey", &json!([known_key, ""])).unwrap_err();
    assert_eq!(again, "account already exists");
    // The folder goes with the node.
    let wallets = call(&mut rpc, "personal_listWallets", &json!([])).unwrap();
    let url = wallets.as_array().unwrap().last().unwrap()["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("keystore://").unwrap();
    assert!(Path::new(path).is_file(), "{path}");
    assert!(node.stop().unwrap().success());
    assert!(!Path::new(path).exists(), "{path}");
}

#[test]
fn sends_of_one_account_at_once_get_a_nonce_each() {
    const SENDS: usize = 6;
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let account = new_account(&mut rpc);
    let gift = json!([{ "from": OF_DEV, "to": account, "value": "0xde0b6b3a7640000" }]);
    call(&mut rpc, "eth_sendTransaction", &gift).unwrap();
    let balance = json!([account, "latest"]);
    esker_e2e::until("the gift is there", || {
        (call(&mut rpc, "eth_getBalance", &balance).unwrap() != json!("0x0")).then_some(())
    });
    thread::scope(|scope| {
        for _ in 0..SENDS {
            scope.spawn(|| {
                let params = json!([{ "from": account, "to": OF_DEV, "value": "0x1" }, PASSWORD]);
                call(&mut node.rpc(), "personal_sendTransaction", &params).unwrap();
            });
        }
    });
    let count = json!([account, "latest"]);
    esker_e2e::until("all are in blocks", || {
        let nonce = call(&mut rpc, "eth_getTransactionCount", &count).unwrap();
        (nonce == json!(format!("{SENDS:#x}"))).then_some(())
    });
}

#[test]
fn a_node_that_others_reach_does_not_start_with_personal() {
    let start = |allow: bool| {
        let node = with_personal().arg("--http-host=0.0.0.0");
        match allow {
            true => node.arg("--allow-keystore-on-public-address").start(),
            false => node.start(),
        }
    };
    let refused = start(false).unwrap_err().to_string();
    assert!(refused.contains("internal-personal"), "{refused}");
    assert!(refused.contains("set allow-keystore-on-public-address"), "{refused}");
    assert!(refused.contains("exit status: 2"), "{refused}");
    // The profile also has keystore-insecure-unlock-allowed.
    let node = start(true).unwrap();
    assert!(node.output().contains("personal_ is served at 0.0.0.0"), "{}", node.output());
    let mut rpc = node.rpc();
    let account = new_account(&mut rpc);
    call(&mut rpc, "personal_unlockAccount", &json!([account, PASSWORD])).unwrap();
}

#[test]
fn dev_on_a_public_address_keeps_its_public_keys_alone() {
    let node = local().dev().arg("--http-host=0.0.0.0").start().unwrap();
    let mut rpc = node.rpc();
    let refused = call(&mut rpc, "personal_newAccount", &json!([PASSWORD])).unwrap_err();
    assert_eq!(refused, "local keystore not used");
    call(&mut rpc, "personal_sign", &json!(["0x68", OF_DEV, ""])).unwrap();
    let refused = call(&mut rpc, "personal_unlockAccount", &json!([OF_DEV, ""])).unwrap_err();
    assert_eq!(refused, FORBIDDEN);
}

#[test]
fn without_the_service_there_is_no_method() {
    let node = local().start().unwrap();
    let refused = call(&mut node.rpc(), "personal_newAccount", &json!([PASSWORD])).unwrap_err();
    assert_eq!(refused, "the method personal_newAccount does not exist/is not available");
    assert!(!node.data_dir().join("keystore").exists());
}
