//! Blob transactions of the node's accounts, and what blocks on request have of them.

use serde_json::{Value, json};

use crate::harness::Esker;

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/// Settings of which block 0 follows.
const START: [&str; 2] = ["--timestamp", "1700000000"];

/// Bytes of a blob.
const BLOB: usize = 131_072;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

fn blob() -> String {
    hex(&[1; BLOB])
}

fn send_blob(node: &Esker) -> Value {
    node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "blobs": [blob()]}]))
}

/// The answer to a request, an error included.
fn answer(node: &Esker, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (_, body) = node.http("POST", "/", &request.to_string());
    serde_json::from_str(&body).unwrap()
}

/// The parameters of a block of the pool's transactions, this long after the last one.
fn request(node: &Esker, seconds: u64) -> Value {
    let head = node.evm("eth_getBlockByNumber", json!(["latest", false]));
    let time = u64::from_str_radix(&head["timestamp"].as_str().unwrap()[2..], 16).unwrap();
    let zero = format!("0x{:064x}", 0);
    let attributes = json!({
        "timestamp": format!("{:#x}", time + seconds), "prevRandao": zero,
        "suggestedFeeRecipient": TO, "withdrawals": [], "parentBeaconBlockRoot": zero,
    });
    json!([head["hash"], attributes, null])
}

fn build(node: &Esker) -> Value {
    node.evm("testing_buildBlockV1", request(node, 1))
}

/// Numbers of blobs, commitments and proofs of a built block.
fn bundle(envelope: &Value) -> [usize; 3] {
    ["blobs", "commitments", "proofs"]
        .map(|name| envelope["blobsBundle"][name].as_array().unwrap().len())
}

#[test]
fn accounts_of_the_node_send_blobs() {
    let node = Esker::start_alone(&[]);
    let hash = send_blob(&node);
    let receipt = node.evm("eth_getTransactionReceipt", json!([hash]));
    assert_eq!((&receipt["type"], &receipt["status"]), (&json!("0x3"), &json!("0x1")));
    assert_eq!(receipt["blobGasUsed"], "0x20000");
    let tx = node.evm("eth_getTransactionByHash", json!([hash]));
    let hashes = tx["blobVersionedHashes"].clone();
    assert!(hashes[0].as_str().unwrap().starts_with("0x01"), "{hashes}");
    let refused = |changes: Value, text: &str| {
        let mut args = json!({"from": FROM, "to": TO, "blobs": [blob()]});
        args.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let answer = answer(&node, "eth_sendTransaction", json!([args]));
        let found = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(found.contains(text), "{text}: {answer}");
    };
    let other = format!("0x01{:062x}", 0);
    let short = "hex string has length 4, want 262144 for kzg4844.Blob";
    refused(json!({"blobs": ["0x0101"]}), short);
    refused(json!({"blobs": vec![blob(); 7]}), "too many blobs in transaction (have=7, max=6)");
    refused(json!({"to": null}), "missing \"to\" in blob transaction");
    refused(json!({"maxFeePerBlobGas": "0x0"}), "maxFeePerBlobGas, if specified, must be non-zero");
    refused(json!({"gasPrice": "0x77359400"}), "instead of gasPrice");
    refused(json!({"blobVersionedHashes": [other]}), "blob hash verification failed (have=0x01");
    refused(json!({"blobVersionedHashes": []}), "number of blobs and hashes mismatch (have=0, wan");
    refused(json!({"proofs": [hex(&[0; 48])]}), "blob proofs provided while commitments were not");
    let (one, two) = (hex(&[0; 48]), hex(&[1; 48]));
    refused(json!({"commitments": [one], "proofs": [two]}), "failed to verify blob proof");
    refused(
        json!({"blobs": [], "blobVersionedHashes": hashes}),
        "signing blob transactions not su",
    );
    // Before blobs.
    let early = Esker::start_alone(&["--hardfork", "shanghai"]);
    let args = json!([{"from": FROM, "to": TO, "blobs": [blob()]}]);
    let found = answer(&early, "eth_sendTransaction", args);
    assert_eq!(found["error"]["message"], "\"blobs\" is not supported for this RPC method");
}

#[test]
fn a_waiting_blob_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = [&START[..], &["--no-build", "--data-dir", data.to_str().unwrap()]].concat();
    let node = Esker::start_alone(&args);
    let hash = send_blob(&node);
    let before = build(&node);
    assert_eq!(bundle(&before), [1, 1, 128]);
    assert!(node.stop("TERM").0.success());
    let node = Esker::start_alone(&args);
    assert_eq!(node.evm("txpool_status", json!([]))["pending"], "0x1");
    assert_eq!(node.evm("eth_getTransactionByHash", json!([hash]))["hash"], hash);
    let after = build(&node);
    assert_eq!(after["blobsBundle"], before["blobsBundle"]);
    assert_eq!(after["executionPayload"]["blockHash"], before["executionPayload"]["blockHash"]);
}

#[test]
fn a_follower_forwards_a_blob_transaction_with_its_sidecar() {
    let source = Esker::start_alone(&[&START[..], &["--api-sync-enabled"]].concat());
    let url = format!("http://{}", source.ready["http"].as_str().unwrap());
    let follower =
        Esker::start_alone(&[&START[..], &["--no-build", "--follow", url.as_str()]].concat());
    // The first proof of a process takes seconds on a busy machine: not those of both within one call.
    source.receipt(&send_blob(&source));
    let hash = send_blob(&follower);
    // The source takes no blob transaction without its sidecar.
    for node in [&source, &follower] {
        let receipt = node.receipt(&hash);
        assert_eq!((&receipt["type"], &receipt["status"]), (&json!("0x3"), &json!("0x1")));
    }
}

/// Code that logs its input with the topic of deposits.
fn logging_deposits() -> String {
    let topic = "649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5";
    format!("0x365f5f377f{topic}365fa1")
}

/// The log of a deposit, and its fields one after the other.
fn deposit() -> (Vec<u8>, Vec<u8>) {
    let (mut log, mut fields) = (vec![0; 576], Vec::new());
    let places = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];
    for (index, (offset, length)) in places.into_iter().enumerate() {
        log[index * 32 + 30..index * 32 + 32].copy_from_slice(&(offset as u16).to_be_bytes());
        log[offset + 31] = length as u8;
        log[offset + 32..offset + 32 + length].fill(index as u8 + 1);
        fields.extend_from_slice(&log[offset + 32..offset + 32 + length]);
    }
    (log, fields)
}

#[test]
fn a_block_on_request_has_its_requests() {
    let node = Esker::start_alone(&[]);
    let deposits = "0x00000000219ab540356cbb839cbe05303d7705fa";
    node.evm("anvil_setCode", json!([deposits, logging_deposits()]));
    node.evm("evm_setAutomine", json!([false]));
    assert_eq!(build(&node)["executionRequests"], json!([]));
    let (log, fields) = deposit();
    let withdrawal = [vec![7; 48], 9_u64.to_be_bytes().to_vec()].concat();
    let consolidation = [vec![5; 48], vec![6; 48]].concat();
    for (to, input) in [
        ("0x00000961ef480eb55e80d19ad83579a64c007002", &withdrawal),
        ("0x0000bbddc7ce488642fb579f8b00f3a590007251", &consolidation),
        (deposits, &log),
    ] {
        let value = if to == deposits { "0x0" } else { "0x1" };
        let gas = "0x7a120";
        let args =
            json!([{"from": FROM, "to": to, "input": hex(input), "value": value, "gas": gas}]);
        node.evm("eth_sendTransaction", args);
    }
    let envelope = build(&node);
    let payload = &envelope["executionPayload"];
    assert_eq!(payload["transactions"].as_array().unwrap().len(), 3, "{payload}");
    let from = &FROM[2..];
    // The amount of a withdrawal is in little-endian order.
    let withdrawal = [&withdrawal[..48], &9_u64.to_le_bytes()].concat();
    let expected = json!([
        format!("0x00{}", &hex(&fields)[2..]),
        format!("0x01{from}{}", &hex(&withdrawal)[2..]),
        format!("0x02{from}{}", &hex(&consolidation)[2..]),
    ]);
    assert_eq!(envelope["executionRequests"], expected);
}

#[test]
fn a_block_on_request_is_later_than_its_parent() {
    let node = Esker::start_alone(&[]);
    node.evm("evm_mine", json!([]));
    let answer = answer(&node, "testing_buildBlockV1", request(&node, 0));
    assert_eq!(answer["error"]["message"], "invalid timestamp", "{answer}");
}
