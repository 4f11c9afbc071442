//! Notifications of subscribers and filters about blocks that were taken back.

use esker_e2e::Node;
use esker_e2e::socket::Socket;
use serde_json::{Value, json};

use super::{FIRST, OTHER, height, receipt, result, start};

/// Writes an empty log: PUSH1 0, PUSH1 0, LOG0.
pub(super) const EMITS: &str = "0x60006000a0";

/// Another account that nothing else uses.
const THIRD: &str = "0x00000000000000000000000000000000000000b1";

/// A transaction with a log; the log.
pub(super) fn emit(node: &Node) -> Value {
    let hash = result(
        node,
        "eth_sendTransaction",
        json!([{"from": FIRST, "to": OTHER, "gas": "0x20000"}]),
    );
    receipt(node, &hash)["logs"][0].clone()
}

pub(super) fn as_removed(logs: &[Value]) -> Vec<Value> {
    let removed = |log: &Value| {
        let mut log = log.clone();
        log["removed"] = json!(true);
        log
    };
    logs.iter().map(removed).collect()
}

pub(super) struct Subscriber(Socket);

impl Subscriber {
    pub(super) fn of(node: &Node, params: &Value) -> Self {
        let mut socket = Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params});
        socket.send(&body.to_string()).unwrap();
        let reply: Value = serde_json::from_str(&socket.read().unwrap()).unwrap();
        assert!(reply["result"].is_string(), "{reply}");
        Self(socket)
    }

    fn next(&mut self) -> Value {
        let message: Value = serde_json::from_str(&self.0.read().unwrap()).unwrap();
        message["params"]["result"].clone()
    }

    pub(super) fn take(&mut self, count: usize) -> Vec<Value> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn changes(node: &Node, filter: &Value) -> Vec<Value> {
    let changes = result(node, "eth_getFilterChanges", json!([filter]));
    changes.as_array().unwrap().clone()
}

#[test]
fn logs_of_blocks_that_were_taken_back_are_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    result(&node, "anvil_setCode", json!([OTHER, EMITS]));
    let kept = emit(&node);
    let mut logs = Subscriber::of(&node, &json!(["logs", {}]));
    let mut others = Subscriber::of(&node, &json!(["logs", {"address": THIRD}]));
    let mut heads = Subscriber::of(&node, &json!(["newHeads"]));
    let filter = result(&node, "eth_newFilter", json!([{}]));
    let of_others = result(&node, "eth_newFilter", json!([{"address": THIRD}]));
    let early = result(&node, "eth_newFilter", json!([{"fromBlock": "0x0", "toBlock": "0x3"}]));
    let blocks = result(&node, "eth_newBlockFilter", json!([]));
    let id = result(&node, "evm_snapshot", json!([]));
    let mut written = vec![emit(&node), emit(&node)];
    assert_eq!(changes(&node, &filter), written);
    assert_eq!(changes(&node, &early), written[..1]);
    assert_eq!(changes(&node, &blocks).len(), 2);
    // The filter never returns this one.
    written.push(emit(&node));
    assert_eq!(logs.take(3), written);
    assert_eq!(heads.take(3).len(), 3);

    assert_eq!(result(&node, "evm_revert", json!([id])), true);
    assert_eq!(logs.take(3), as_removed(&written));
    assert_eq!(changes(&node, &filter), as_removed(&written[..2]));
    assert_eq!(changes(&node, &early), as_removed(&written[..1]));
    for filter in [&filter, &early, &of_others, &blocks] {
        assert_eq!(changes(&node, filter), [] as [Value; 0]);
    }
    assert_eq!(result(&node, "eth_getLogs", json!([{"fromBlock": "0x0"}])), json!([kept]));

    // The new blocks follow, and nothing of the old ones.
    let again = emit(&node);
    assert_eq!((logs.next(), changes(&node, &filter)), (again.clone(), vec![again.clone()]));
    let head = heads.next();
    assert_eq!((&head["number"], &head["hash"]), (&again["blockNumber"], &again["blockHash"]));
    assert_eq!(changes(&node, &blocks), [head["hash"].clone()]);
    result(&node, "anvil_setCode", json!([THIRD, EMITS]));
    let to_third = json!([{"from": FIRST, "to": THIRD, "gas": "0x20000"}]);
    receipt(&node, &result(&node, "eth_sendTransaction", to_third));
    assert_eq!(others.next()["removed"], false, "the first that concerns it");
}

#[test]
fn several_reverts_between_two_questions() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    result(&node, "anvil_setCode", json!([OTHER, EMITS]));
    let filter = result(&node, "eth_newFilter", json!([{}]));
    let first = result(&node, "evm_snapshot", json!([]));
    let mut written = vec![emit(&node)];
    let second = result(&node, "evm_snapshot", json!([]));
    written.push(emit(&node));
    assert_eq!(changes(&node, &filter), written);
    assert_eq!(result(&node, "evm_revert", json!([second])), true);
    // In place of the second one: removed before the filter returned it.
    emit(&node);
    emit(&node);
    assert_eq!(result(&node, "evm_revert", json!([first])), true);
    let last = emit(&node);
    let mut expected = as_removed(&[written[1].clone(), written[0].clone()]);
    expected.push(last);
    assert_eq!(changes(&node, &filter), expected);
    assert_eq!(height(&node), 2);
    // Blocks by number go the same way.
    assert_eq!(result(&node, "anvil_rollback", json!([1])), Value::Null);
    assert_eq!(changes(&node, &filter), as_removed(&expected[2..]));
}
