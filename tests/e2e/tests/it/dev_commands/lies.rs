//! Payments through somebody who alters the node's answers: nothing is signed that the user has not agreed to.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use esker_client::RpcClient;
use esker_e2e::files::tests_path;
use esker_e2e::funds::funded;
use esker_e2e::{Node, NodeBuilder};
use esker_primitives::address;
use esker_primitives::sync::Mutex;
use serde_json::{Value, json};

use super::{FIRST_X, NOBODY, Ran, WELL_KNOWN_KEY, run_with};
use crate::support::local;

/// A change of a method's answer: `answer` is the whole document, `count` is the number of earlier calls of the
/// method.
type Alter = dyn Fn(&str, usize, &mut Value) + Send + Sync;

/// Somebody between the command and a node.
struct Between {
    url: String,
    methods: Arc<Mutex<Vec<String>>>,
}

impl Between {
    fn start(
        node: SocketAddr,
        alter: impl Fn(&str, usize, &mut Value) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let methods = Arc::new(Mutex::new(Vec::new()));
        let (seen, alter): (_, Arc<Alter>) = (Arc::clone(&methods), Arc::new(alter));
        // It ends with the process of the test.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (seen, alter) = (Arc::clone(&seen), Arc::clone(&alter));
                thread::spawn(move || {
                    let mut client = BufReader::new(client);
                    while serve(&mut client, node, &seen, &*alter).is_some() {}
                });
            }
        });
        Self { url, methods }
    }

    /// How many transactions were sent.
    fn sent(&self) -> usize {
        let sends = ["xvm.issueTx", "evm_sendRawTransaction"];
        self.methods.lock().iter().filter(|method| sends.contains(&method.as_str())).count()
    }
}

/// Answers one request; `None` at the end of the connection.
fn serve(
    client: &mut BufReader<TcpStream>,
    node: SocketAddr,
    seen: &Mutex<Vec<String>>,
    alter: &Alter,
) -> Option<()> {
    let mut first = String::new();
    client.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        client.read_line(&mut line).ok()?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    client.read_exact(&mut body).ok()?;
    let path = first.split(' ').nth(1)?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let method = request["method"].as_str()?.to_owned();
    let reply = RpcClient::new(node).post(path, &body).ok()?;
    let mut answer: Value = serde_json::from_slice(&reply.body).ok()?;
    let count = {
        let mut seen = seen.lock();
        let count = seen.iter().filter(|other| **other == method).count();
        seen.push(method.clone());
        count
    };
    alter(&method, count, &mut answer);
    let body = answer.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.get_mut().write_all((head + &body).as_bytes()).ok()
}

/// Somebody who replaces one member of a method's result, or all of it where the member is empty.
fn replaces(node: &Node, method: &'static str, member: &'static str, by: Value) -> Between {
    Between::start(node.address(), move |called, _, answer| {
        if called != method {
            return;
        }
        match member {
            "" => answer["result"] = by.clone(),
            member => answer["result"][member] = by.clone(),
        }
    })
}

fn balances(node: &Node) -> [String; 2] {
    [FIRST_X, super::FIRST].map(|address| super::balance(node, address))
}

/// A command whose payment is refused before anything is sent.
fn refused(lie: &Between, code: i32, args: &[&str]) -> String {
    refused_with(lie, code, &[], args)
}

fn refused_with(lie: &Between, code: i32, variables: &[(&str, &str)], args: &[&str]) -> String {
    let (found, out, errors) = run_with(&lie.url, variables, args);
    assert_eq!((found, &*out), (Some(code), ""), "{args:?}: {errors}");
    assert_eq!(lie.sent(), 0, "{args:?}: {errors}");
    errors
}

#[test]
fn high_fees_are_not_paid() {
    let node = local().dev().start().unwrap();
    let before = balances(&node);
    let lies = [
        ("xvm.getTxFee", "txFee", json!("9000000000000"), FIRST_X, "9000 NAT"),
        ("evm_baseFee", "", json!("0x470de4df820000"), NOBODY, "840."),
        ("evm_maxPriorityFeePerGas", "", json!("0x470de4df820000"), NOBODY, "420."),
        ("evm_maxPriorityFeePerGas", "", json!(format!("0x{}", "f".repeat(64))), NOBODY, "NAT"),
        ("evm_estimateGas", "", json!("0xffffffffffffffff"), NOBODY, "NAT"),
    ];
    for (method, member, by, to, fee) in lies {
        let lie = replaces(&node, method, member, by);
        for args in [&["transfer", "1", to][..], &["faucet", to, "1"]] {
            let errors = refused(&lie, 1, args);
            assert!(errors.contains("the fee would be up to ") && errors.contains(fee), "{errors}");
            assert!(errors.contains("--max-fee is 0.1"), "{errors}");
        }
        // A limit that was meant otherwise.
        let errors = refused(&lie, 1, &["transfer", "1", to, "--max-fee", "2", "--yes"]);
        assert!(errors.contains("--max-fee is 2"), "{errors}");
    }
    let lie = replaces(&node, "xvm.getTxFee", "txFee", json!("9000000000000"));
    let errors = refused(&lie, 2, &["transfer", "1", FIRST_X, "--max-fee", "9000"]);
    assert!(errors.contains("add --yes"), "{errors}");
    let errors = refused(&lie, 2, &["transfer", "1", FIRST_X, "--max-fee", "much"]);
    assert!(errors.contains("--max-fee much: expected digits"), "{errors}");
    assert_eq!(balances(&node), before);
    // A user who insists pays.
    let args = ["transfer", "1", FIRST_X, "--max-fee", "9000", "--yes", "--json"];
    let (code, out, errors) = run_with(&lie.url, &[], &args);
    assert_eq!((code, &*errors), (Some(0), ""));
    let paid: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(paid["fee"], "9000");
    // The usual fee, and none.
    super::text(&node, &["transfer", "1", FIRST_X, "--max-fee", "0.001", "--from", "1"]);
    let errors = super::failure(&node.url(), 1, &["transfer", "1", FIRST_X, "--max-fee", "0"]);
    assert!(errors.contains("--max-fee is 0:"), "{errors}");
}

#[test]
fn a_receipt_shows_no_greater_fee_than_was_signed() {
    let node = local().dev().start().unwrap();
    let lie = Between::start(node.address(), |method, _, answer| {
        if method == "evm_getTransactionReceipt" && answer["result"].is_object() {
            answer["result"]["effectiveGasPrice"] = json!("0xffffffffffffffff");
        }
    });
    let (code, out, errors) = run_with(&lie.url, &[], &["transfer", "1", NOBODY, "--json"]);
    assert_eq!((code, &*errors), (Some(0), ""));
    let paid: Value = serde_json::from_str(&out).unwrap();
    assert!(paid["fee"].as_str().unwrap().starts_with("0.000"), "{paid}");
}

#[test]
fn no_other_network_is_signed_for() {
    let node = local().dev().start().unwrap();
    let ethereum = replaces(&node, "evm_chainId", "", json!("0x1"));
    for args in [&["transfer", "1", NOBODY][..], &["faucet", NOBODY]] {
        let errors = refused(&ethereum, 2, args);
        assert!(errors.contains("its chain C has the chain ID 1"), "{errors}");
        assert!(errors.contains("--chain-id 1"), "{errors}");
    }
    let key = [("ESKER_PRIVATE_KEY", WELL_KNOWN_KEY)];
    refused_with(&ethereum, 2, &key, &["transfer", "1", NOBODY]);
    for (named, origin) in [
        (&["--chain-id", "43112"][..], "--chain-id 43112"),
        (&["--network", "dev"], "--network dev"),
        (&["--network", "12345"], "--network 12345"),
        (&["--network", "main"], "--network main"),
    ] {
        let args = [&["transfer", "1", NOBODY], named].concat();
        let errors = refused(&ethereum, 1, &args);
        assert!(errors.contains("chain ID of its chain C is 1, but it is 431"), "{errors}");
        assert!(errors.contains(origin), "{errors}");
    }
    for variable in [("ESKER_CHAIN_ID", "43112"), ("ESKER_NETWORK", "local")] {
        let errors = refused_with(&ethereum, 1, &[variable], &["transfer", "1", NOBODY]);
        assert!(errors.contains(variable.0), "{errors}");
    }
    // The other chain: a number that differs from the address, at first or only when it is signed.
    for (first, id) in [(0, "1"), (1, "1"), (1, "5"), (1, "777")] {
        let main = Between::start(node.address(), move |method, count, answer| {
            if method == "info.getNetworkID" && count >= first {
                answer["result"]["networkID"] = json!(id);
            }
        });
        let code = if first == 0 { 2 } else { 1 };
        let errors = refused(&main, code, &["transfer", "1", FIRST_X]);
        let expected =
            if first == 0 { "another network" } else { "but it is 12345 by the address" };
        assert!(errors.contains(expected), "{errors}");
    }
    // Names that the honest node does not have.
    for (args, code, expected) in [
        (
            &["--network", "main"][..],
            1,
            "network of its chain X is 12345, but it is 1 by --network main",
        ),
        (&["--network", "777"], 1, "but it is 777 by --network 777"),
        (&["--network", "/nowhere/file"], 2, "--network /nowhere/file: can't read"),
        (&["--chain-id", "43112"], 2, "chain X has none"),
    ] {
        let errors =
            super::failure(&node.url(), code, &[&["transfer", "1", FIRST_X], args].concat());
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
    let errors = super::failure(&node.url(), 2, &["transfer", "1", NOBODY, "--network", "777"]);
    assert!(errors.contains("give --chain-id as well"), "{errors}");
    super::text(&node, &["transfer", "1", NOBODY, "--network", "dev"]);
    super::text(&node, &["transfer", "1", FIRST_X, "--network", "local"]);
}

/// A node of a network that only its users know, and what a payment there needs.
fn own_network() -> (NodeBuilder, Vec<(&'static str, &'static str)>) {
    let file = tests_path("networks/evm-chains.json");
    (local().network(file), vec![("ESKER_PRIVATE_KEY", WELL_KNOWN_KEY)])
}

fn pay(url: &str, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    run_with(url, variables, &[&["transfer", "0.5"], args].concat())
}

#[test]
fn a_confirmed_network_is_kept() {
    let (node, mut variables) = own_network();
    let node = node.start().unwrap();
    let url = node.url();
    let home = tempfile::tempdir().unwrap();
    let home_text = home.path().to_str().unwrap().to_owned();
    let (code, _, errors) = pay(&url, &variables, &[NOBODY, "--chain", "G"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("its chain G has the chain ID 43203"), "{errors}");
    variables.push(("HOME", &home_text));
    // There is no terminal that could answer.
    assert_eq!(pay(&url, &variables, &[NOBODY, "--chain", "G"]).0, Some(2));
    let file = home.path().join(".esker/known-networks.json");
    assert!(!file.exists());
    std::fs::create_dir(home.path().join(".esker")).unwrap();
    let entry = |id: u64| json!({ &url: {"G": {"chainID": id}} }).to_string();
    std::fs::write(&file, entry(43203)).unwrap();
    let (code, _, errors) = pay(&url, &variables, &[NOBODY, "--chain", "G"]);
    assert_eq!((code, &*errors), (Some(0), ""));
    // Another node may be at the same port of this machine: the user is asked again.
    std::fs::write(&file, entry(7)).unwrap();
    let (code, _, errors) = pay(&url, &variables, &[NOBODY, "--chain", "G"]);
    assert_eq!(code, Some(2), "{errors}");
    std::fs::write(&file, "nothing").unwrap();
    let (code, _, errors) = pay(&url, &variables, &[NOBODY, "--chain", "G"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("known-networks.json: "), "{errors}");
}

/// The answer that another transaction came first, although the payment was sent.
#[test]
fn a_payment_is_signed_once_where_coins_have_value() {
    let (node, variables) = own_network();
    let node = node.start().unwrap();
    let outrun = |node: &Node| {
        Between::start(node.address(), |method, _, answer| {
            if ["xvm.issueTx", "evm_sendRawTransaction"].contains(&method) {
                let message = "nonce too low: next nonce 7, tx nonce 6";
                let message = if method == "xvm.issueTx" { "not found" } else { message };
                *answer = json!({"jsonrpc": "2.0", "id": answer["id"], "error": {"code": -32000, "message": message}});
            }
        })
    };
    let lie = outrun(&node);
    let (code, _, errors) =
        pay(&lie.url, &variables, &[NOBODY, "--chain", "G", "--chain-id", "43203"]);
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(lie.sent(), 1);
    assert!(errors.contains("Before you pay again") && errors.contains("`esker tx 0x"), "{errors}");
}

#[test]
fn assets_are_those_that_were_meant() {
    let node = local().dev().start().unwrap();
    let native: Value = super::document(&node, &["balance", FIRST_X]);
    let native = native["balances"][0]["assetID"].as_str().unwrap().to_owned();
    // Other decimal places: a thousand times as much.
    let lie = replaces(&node, "xvm.getAssetDescription", "denomination", json!("12"));
    assert!(refused(&lie, 1, &["transfer", "1", FIRST_X]).contains("unexpected reply"));
    // Another native asset when it is asked for again.
    let count = AtomicUsize::new(0);
    let id = esker_primitives::AssetId::sha256(b"other").to_string();
    let lie = Between::start(node.address(), move |method, _, answer| {
        if method == "xvm.getAssetDescription" && count.fetch_add(1, Ordering::Relaxed) > 0 {
            answer["result"]["assetID"] = json!(id);
        }
    });
    assert!(refused(&lie, 1, &["transfer", "1", FIRST_X]).contains("native asset changes"));
    // An asset of one's own.
    let mut wallet = crate::support::wallet(&node, "X", funded());
    let owners = esker_utxo::OutputOwners::single(wallet.owner());
    let output = esker_utxo::TransferOutput { amount: 1_000_000, owners };
    let output = esker_utxo::Output::SecpTransfer(output);
    let state = esker_transactions::xvm::InitialState { fx_index: 0, outputs: vec![output] };
    let asset = wallet.create_asset("Points", "PTS", 2, vec![state]).unwrap();
    crate::support::accept(&mut node.x(), &asset);
    wallet.apply(&asset);
    let id = asset.id().to_string();
    let key = [("ESKER_PRIVATE_KEY", WELL_KNOWN_KEY)];
    let to = address::format("X", "local", &wallet.owner());
    let args = ["transfer", "1", &to, "--asset", &id];
    let of_points = |member: &'static str, by: Value| {
        let id = id.clone();
        Between::start(node.address(), move |method, _, answer| {
            let is_asked = answer["result"]["assetID"] == id.as_str();
            if method == "xvm.getAssetDescription" && is_asked {
                answer["result"][member] = by.clone();
            }
        })
    };
    let errors = refused_with(&of_points("denomination", json!("4")), 1, &key, &args);
    assert!(errors.contains("has 4 decimal places, which is not so"), "{errors}");
    let errors = refused_with(&of_points("assetID", json!(native)), 1, &key, &args);
    assert!(errors.contains("unexpected reply"), "{errors}");
    let (code, _, errors) = run_with(&node.url(), &key, &args);
    assert_eq!((code, &*errors), (Some(0), ""));
}

/// The output of `esker status` for documents that are not from a node.
#[test]
fn nonsense_is_no_health() {
    for body in ["{}", "[]", "null", "\"ok\"", r#"{"healthy":true,"checks":{}}"#, "7"] {
        let errors = super::failure(&crate::support::liar(body.as_bytes()), 1, &["status"]);
        assert!(errors.contains("unexpected answer from ") && errors.contains("no "), "{errors}");
    }
}
