//! The keystore of a whole node: logins under load, passwords that are guessed, users deleted while they are used, kills
//! during an import, what is on disk, and where there is no keystore.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker_client::{CallError, RpcClient};
use esker_e2e::Node;
use esker_e2e::files::{profile, tests_path};
use esker_e2e::funds::FUNDED;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

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
                // Most users are unknown, all passwords are wrong: each costs a hash, none is remembered. No user has
                // so many that its client has to wait.
                let name = ["alice", "nobody", "no one", "none"][n % 4];
                start.wait();
                let wrong = user(name, &format!("wrong {n}"));
                let refused = call(&mut rpc, X, "xvm.listAddresses", wrong).unwrap_err();
                let expected = "problem retrieving user \"U\": incorrect password: user \"U\"";
                assert_eq!(refused, expected.replace('U', name));
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
fn logins_above_the_queue_limit_are_refused() {
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
                // Each a user of its own: no client has to wait for what it did wrong.
                let name = format!("nobody {n}");
                let refused = call(&mut rpc, X, "xvm.createAddress", user(&name, "wrong"));
                let refused = refused.unwrap_err();
                if refused.contains("keystore is busy") {
                    busy.fetch_add(1, Ordering::SeqCst);
                } else {
                    let expected = format!("incorrect password: user \"{name}\"");
                    assert!(refused.ends_with(&expected), "{refused}");
                }
            });
        }
    });
    let busy = busy.into_inner();
    assert!(busy > 0 && busy < LOGINS, "{busy} of {LOGINS} were refused as too many");
    // Afterwards there is room again.
    create(&node, "alice");
}

const OWN: &str = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
const ACCOUNT: &str = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc";

/// Every method that checks a password, with arguments that are in order but for it.
fn methods_with_passwords() -> Vec<(&'static str, &'static str, Value)> {
    const WALLET: &str = "/ext/bc/X/wallet";
    const NAT: &str = "/ext/bc/C/nat";
    let (key, output) = (json!({ "privateKey": FUNDED }), json!({ "assetID": "NAT", "amount": 1 }));
    let sent = with(output.clone(), "to", OWN);
    let outputs = json!({ "outputs": [sent] });
    let holders = json!([{ "amount": 1, "address": OWN }]);
    let asset = json!({ "name": "Coin", "symbol": "COIN", "initialHolders": holders });
    let minters = json!([{ "threshold": 1, "minters": [OWN] }]);
    let picture = json!({ "name": "Picture", "symbol": "PIC", "minterSets": minters });
    let payload = with(with(sent.clone(), "payload", "0x00"), "encoding", "hexnc");
    let to_c = with(with(output, "targetChain", "C"), "to", &OWN.replace('X', "C"));
    let from_c = json!({ "sourceChain": "C", "to": OWN });
    let from_x = json!({ "sourceChain": "X", "to": ACCOUNT });
    vec![
        (KEYSTORE, "keystore.deleteUser", json!({})),
        (KEYSTORE, "keystore.exportUser", json!({})),
        (X, "xvm.createAddress", json!({})),
        (X, "xvm.createAsset", asset.clone()),
        (X, "xvm.createFixedCapAsset", asset.clone()),
        (X, "xvm.createNFTAsset", picture),
        (X, "xvm.createVariableCapAsset", asset),
        (X, "xvm.export", to_c),
        (X, "xvm.exportKey", json!({ "address": OWN })),
        (X, "xvm.import", from_c),
        (X, "xvm.importKey", key.clone()),
        (X, "xvm.listAddresses", json!({})),
        (X, "xvm.mint", sent.clone()),
        (X, "xvm.mintNFT", payload),
        (X, "xvm.send", sent.clone()),
        (X, "xvm.sendMultiple", outputs.clone()),
        (X, "xvm.sendNFT", sent.clone()),
        (WALLET, "wallet.send", sent.clone()),
        (WALLET, "wallet.sendMultiple", outputs),
        (NAT, "nat.export", sent.clone()),
        (NAT, "nat.exportNative", sent),
        (NAT, "nat.exportKey", json!({ "address": ACCOUNT })),
        (NAT, "nat.import", from_x.clone()),
        (NAT, "nat.importNative", from_x),
        (NAT, "nat.importKey", key),
    ]
}

fn incorrect(name: &str) -> String {
    format!("incorrect password: user \"{name}\"")
}

/// The seconds to wait, from an error answer.
fn required_wait_s(answer: &str, name: &str) -> Option<u64> {
    let expected =
        format!("too many wrong passwords for user \"{name}\" from this address: try again in ");
    answer.split_once(&expected)?.1.strip_suffix(" s")?.parse().ok()
}

/// A client that guesses, and how long it may have to wait.
struct Guesser<'a> {
    rpc: RpcClient,
    name: &'a str,
    wrong: u32,
    /// Before the first wrong password was sent.
    first: Instant,
    /// Before the last one was sent, and after it was answered.
    last: (Instant, Instant),
    /// The quickest answers of either kind.
    hashed: Duration,
    refused: Duration,
}

impl<'a> Guesser<'a> {
    fn new(node: &Node, name: &'a str) -> Self {
        let (first, hashed, refused) = (Instant::now(), Duration::MAX, Duration::MAX);
        Self { rpc: node.rpc(), name, wrong: 0, first, last: (first, first), hashed, refused }
    }

    /// The longest wait of the client after the last wrong password, in seconds.
    fn most_s(&self) -> u64 {
        self.wrong.checked_sub(16).map_or(0, |more| 1 << more)
    }

    /// The same at least: one is forgotten each minute.
    fn least_s(&self) -> u64 {
        self.most_s() >> ((self.last.1 - self.first).as_secs() / 60)
    }

    /// A wrong password: refused exactly while the client has to wait. Returns whether it was checked.
    fn guess(&mut self, (path, method, params): &(&str, &str, Value)) -> bool {
        let [least, most] = [self.least_s(), self.most_s()].map(Duration::from_secs);
        let params = with(with(params.clone(), "username", self.name), "password", "wrong");
        let sent = Instant::now();
        let answer = call(&mut self.rpc, path, method, params).unwrap_err();
        let answered = Instant::now();
        if let Some(wait_s) = required_wait_s(&answer, self.name) {
            assert!(
                sent < self.last.1 + most,
                "{method}: {answer}, {:?} after",
                sent - self.last.1
            );
            assert!((1..=self.most_s()).contains(&wait_s), "{method}: {answer}");
            self.refused = self.refused.min(answered - sent);
            return false;
        }
        assert!(answer.ends_with(&incorrect(self.name)), "{method}: {answer}");
        assert!(answered >= self.last.0 + least, "{method}, number {}: checked", self.wrong + 1);
        self.hashed = self.hashed.min(answered - sent);
        self.last = (sent, answered);
        self.wrong += 1;
        true
    }
}

/// The answer of xvm.listAddresses to a client at this address of this machine.
fn list_addresses_from(client: Ipv4Addr, node: &Node, name: &str) -> Value {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((client, 0)).into()).unwrap();
    socket.connect_timeout(&node.address().into(), Duration::from_secs(10)).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let params = user(name, PASSWORD);
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "xvm.listAddresses", "params": params });
    let body = body.to_string();
    let head = format!(
        "POST {X} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        node.address(),
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn only_the_guessing_client_waits() {
    let node = local().start().unwrap();
    create(&node, "bob");
    create(&node, "eve");
    let methods = methods_with_passwords();
    // The first sixteen methods for one user and the last for another; then none of all is checked.
    let mut bob = Guesser::new(&node, "bob");
    let mut nobody = Guesser::new(&node, "nobody");
    for (guesser, counted) in [(&mut bob, &methods[..16]), (&mut nobody, &methods[9..])] {
        assert_eq!(counted.len(), 16);
        assert!(counted.iter().all(|method| guesser.guess(method)), "sixteen are free");
        // To an unknown user deleteUser says something else.
        methods[1..].iter().for_each(|method| {
            guesser.guess(method);
        });
        assert!(guesser.refused < guesser.hashed, "{:?}", (guesser.refused, guesser.hashed));
    }

    // Long enough for what follows.
    let deadline = Instant::now() + Duration::from_secs(120);
    while bob.least_s() < 8 {
        bob.guess(&methods[11]);
        assert!(Instant::now() < deadline);
    }
    let mut rpc = node.rpc();
    assert_eq!(addresses(&mut rpc, "eve"), Ok(Vec::new()), "another user");
    let (two, here) = (Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST);
    let other = list_addresses_from(two, &node, "bob");
    assert_eq!(other["result"]["addresses"], json!([]), "another address: {other}");
    // Nor is the right password taken before its time, which is remembered by now.
    let same = list_addresses_from(here, &node, "bob");
    let message = same["error"]["message"].as_str().unwrap_or_default();
    assert!(required_wait_s(message, "bob").is_some(), "{same}");
    while addresses(&mut rpc, "bob").is_err() {
        assert!(Instant::now() < deadline);
    }
    assert!(Instant::now() >= bob.last.0 + Duration::from_secs(bob.least_s()));
    // It cleared the count.
    bob.wrong = 0;
    assert!(bob.guess(&methods[11]) && bob.guess(&methods[11]));
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
            assert!(!answered, "round {round}: reported as existing, but missing");
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
    assert_eq!(refused.unwrap_err(), "rpc: can't find method \"xvm.CreateAddress\"");
    let output = node.output();
    assert_eq!(output.matches("switched off").count(), 1, "{output}");
    assert!(output.contains("switched off: the node is public"), "{output}");
}

#[test]
fn a_node_for_strangers_does_not_start_with_a_keystore() {
    let start = |allow: bool| {
        let node = local().network("test").arg("--api-keystore-enabled").arg("--http-host=0.0.0.0");
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
