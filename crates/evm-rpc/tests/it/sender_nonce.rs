//! Transactions found by who sent them and with which nonce.

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm_state::blocks::History;
use serde_json::{Value, json};

use crate::world::{Setup, World};

/// Above the base fee of the first block.
const PRICE: u128 = 400_000_000_000;
/// Code that creates a contract whose code is empty.
const CREATE_NOTHING: &[u8] = &[0x60, 0, 0x60, 0, 0xf3];

struct Sender {
    world: World,
    keys: KeyRing,
}

impl Sender {
    fn new(history: History) -> Self {
        let world = World::new(Setup { history, ..Setup::ARCHIVE });
        Self { world, keys: KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap() }
    }

    fn address(&self) -> Address {
        self.keys.accounts()[0]
    }

    /// Puts a transaction into the pool; its hash.
    fn send(&self, nonce: u64, to: TxKind) -> B256 {
        let input = if to.is_create() { Bytes::from_static(CREATE_NOTHING) } else { Bytes::new() };
        let (chain_id, gas_price, gas_limit) = (Some(43112), PRICE, 100_000);
        let value = U256::ZERO;
        let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
        let tx = sign_transaction(&self.keys, &self.address(), TypedTransaction::Legacy(tx));
        self.world.evm.submit(tx.unwrap()).unwrap()
    }

    /// A transfer in a block of its own.
    async fn accept(&self, nonce: u64) -> B256 {
        let hash = self.send(nonce, TxKind::Call(Address::repeat_byte(2)));
        self.world.settle().await;
        hash
    }

    async fn find(&self, sender: Address, nonce: Value) -> Value {
        let params = json!([sender, nonce]).to_string();
        self.world.call("eth_getTransactionBySenderAndNonce", &params).await
    }
}

#[tokio::test]
async fn each_nonce_has_its_transaction() {
    let from = Sender::new(History::Archive);
    assert_eq!(from.find(from.address(), json!("0x0")).await, Value::Null, "nothing was sent");
    let mut hashes = Vec::new();
    for nonce in 0..9 {
        hashes.push(from.accept(nonce).await);
    }
    // Two in one block, the second of which makes a contract.
    hashes.push(from.send(9, TxKind::Call(Address::repeat_byte(2))));
    hashes.push(from.send(10, TxKind::Create));
    from.world.settle().await;
    // Waiting: the next one, and one after a gap.
    hashes.push(from.send(11, TxKind::Call(Address::repeat_byte(2))));
    let queued = from.send(20, TxKind::Call(Address::repeat_byte(2)));

    for (nonce, hash) in hashes.iter().enumerate() {
        let found = from.find(from.address(), json!(format!("{nonce:#x}"))).await;
        let by_hash = format!("[\"{hash}\"]");
        assert_eq!(found, from.world.call("eth_getTransactionByHash", &by_hash).await, "{nonce}");
        assert_eq!(found["hash"], hash.to_string());
        assert_eq!(found["blockNumber"].is_null(), nonce == 11);
    }
    let all_forms = [json!(3), json!("3"), json!("0x3")];
    for form in all_forms {
        assert_eq!(from.find(from.address(), form).await["hash"], hashes[3].to_string());
    }
    assert_eq!(from.find(from.address(), json!(20)).await["hash"], queued.to_string());
    assert_eq!(from.find(from.address(), json!(12)).await, Value::Null);
    assert_eq!(from.find(from.address(), json!(u64::MAX)).await, Value::Null);
    assert_eq!(from.find(Address::repeat_byte(2), json!(0)).await, Value::Null, "never sent");

    // A contract's nonce counts what it creates.
    let receipt = format!("[\"{}\"]", hashes[10]);
    let receipt = from.world.call("eth_getTransactionReceipt", &receipt).await;
    let contract: Address = receipt["contractAddress"].as_str().unwrap().parse().unwrap();
    let account = from.world.call("eth_getAccount", &json!([contract]).to_string()).await;
    assert_eq!(account["nonce"], "0x1");
    assert_eq!(from.find(contract, json!(0)).await, Value::Null);
}

#[tokio::test]
async fn what_a_pruning_node_has_forgotten_is_an_error() {
    let from = Sender::new(History::Window(3));
    let mut hashes = Vec::new();
    for nonce in 0..8 {
        hashes.push(from.accept(nonce).await);
    }
    // The states of blocks 5 to 8 are kept, so it is known what blocks 6 to 8 changed.
    for (nonce, hash) in hashes.iter().enumerate().skip(5) {
        let found = from.find(from.address(), json!(nonce)).await;
        assert_eq!(found["hash"], hash.to_string());
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "evm_getTransactionBySenderAndNonce",
        "params": [from.address(), "0x4"]});
    let reply: Value = serde_json::from_str(&from.world.ask(&body.to_string()).await).unwrap();
    let text = "nonce 4 of 0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC was used before the states that this node \
                keeps, which begin with block 5: an archive node knows the transaction";
    assert_eq!(reply["error"], json!({"code": -32000, "message": text}));
    assert_eq!(from.find(from.address(), json!(8)).await, Value::Null);
}

#[tokio::test]
async fn accounts_are_shown_whole() {
    let from = Sender::new(History::Archive);
    from.accept(0).await;
    let genesis = json!([from.address(), "0x0"]).to_string();
    let account = from.world.call("evm_getAccount", &genesis).await;
    let empty_root = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
    let no_code = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
    let balance = "0x295be96e64066972000000";
    assert_eq!(
        account,
        json!({"nonce": "0x0", "balance": balance, "storageRoot": empty_root, "codeHash": no_code})
    );
    let info = from.world.call("eth_getAccountInfo", &genesis).await;
    assert_eq!(info, json!({"balance": balance, "nonce": "0x0", "code": "0x"}));

    // Without a block it is the last one.
    for block in [json!(null), json!("latest"), json!("pending"), json!({"blockNumber": "0x1"})] {
        let params = json!([from.address(), block]).to_string();
        assert_eq!(from.world.call("eth_getAccount", &params).await["nonce"], "0x1", "{block}");
        assert_eq!(from.world.call("eth_getAccountInfo", &params).await["nonce"], "0x1");
    }
    let params = json!([from.address()]).to_string();
    assert_eq!(from.world.call("eth_getAccount", &params).await["nonce"], "0x1");

    let nobody = json!([Address::repeat_byte(9), "latest"]).to_string();
    let account = from.world.call("eth_getAccount", &nobody).await;
    assert_eq!(
        account,
        json!({"nonce": "0x0", "balance": "0x0", "storageRoot": empty_root, "codeHash": no_code})
    );
    let info = from.world.call("eth_getAccountInfo", &nobody).await;
    assert_eq!(info, json!({"balance": "0x0", "nonce": "0x0", "code": "0x"}));
    for method in ["eth_getAccount", "eth_getAccountInfo"] {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": [from.address(), "0x9"]});
        let reply = from.world.ask(&body.to_string()).await;
        assert!(reply.contains("cannot query unfinalized data"), "{reply}");
    }
}
