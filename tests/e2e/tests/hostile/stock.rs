//! A node that has much to return: large blocks, many logs, many outputs, a full pool, a user with keys.

use esker_client::{ChainParams, Wallet, XvmClient};
use esker_e2e::funds::{funded, key};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{RPC, Wire};
use esker_e2e::{Node, until};
use esker_primitives::ShortId;
use esker_transactions::xvm::{InitialState, Tx};
use esker_utxo::{FxKind, Output, OutputOwners, TransferOutput};
use serde_json::{Value, json};

use crate::support::now_s;

/// Name and password of the user.
pub(super) const USER: (&str, &str) = ("alice", "Str0ng-Pass-W0rd!");

/// A user whose password is guessed; who guesses has to wait then, also with the right one.
pub(super) const OTHER_USER: &str = "bob";

/// Init code of a contract that logs nothing 9,500 times: PUSH2, JUMPDEST, PUSH1 0, PUSH1 0, LOG0, PUSH1 1, SWAP1, SUB,
/// DUP1, PUSH1 3, JUMPI, STOP.
const LOGS: &str = "0x6012600c60003960126000f361251c5b60006000a0600190038060035700";
/// Init code of a contract that fills slots of its own while there is gas: JUMPDEST, GAS, NUMBER, PUSH1 64, SHL, ADD, DUP1,
/// SSTORE, PUSH2 0x8000, GAS, GT, PUSH1 0, JUMPI, STOP.
const SLOTS: &str = "0x6012600c60003960126000f35b5a4360401b0180556180005a1160005700";
/// Init code of a contract of 24,576 zeros.
const LONG_CODE: &str = "0x6160006000f3";
/// Bytes of the data of a long transaction.
const LONG: usize = 120_000;

/// How much there is.
pub(super) struct Amounts {
    /// Long transactions in the large block.
    pub(super) long: u64,
    /// Transfers in another one.
    pub(super) transfers: u64,
    /// Blocks with many logs.
    pub(super) logs: usize,
    /// Blocks that fill some 600 slots each.
    pub(super) slots: usize,
    /// Long transactions that wait.
    pub(super) waiting: u64,
    /// Transactions with 700 outputs each.
    pub(super) outputs: usize,
    /// Assets of one address.
    pub(super) assets: usize,
    /// Addresses of the user.
    pub(super) addresses: usize,
}

/// The things that rows name.
pub(super) struct Stock {
    /// An account that the node holds, and another one.
    pub(super) account: String,
    pub(super) other: String,
    /// One whose transactions wait.
    pub(super) sender: String,
    /// A contract of much code.
    pub(super) long_code: String,
    /// One with many slots.
    pub(super) full: String,
    /// Transactions in the block of many.
    pub(super) transfers: u64,
    /// The block of long transactions, that of many, and one of many logs: number, hash, and the hash of a transaction.
    pub(super) long: Block,
    pub(super) many: Block,
    pub(super) logs: Block,
    /// Signed transactions, not sent, of an account that sends none: endless code with much gas.
    pub(super) endless: [Value; 3],
    /// A transaction that waits.
    pub(super) waiting: String,
    /// Filters: of logs from the beginning on, of blocks, of transactions.
    pub(super) filters: [String; 3],
    /// An address of the X-Chain with many outputs and assets.
    pub(super) owner: String,
    /// A large transaction of the X-Chain, its bytes, its block, and an asset.
    pub(super) x_tx: String,
    pub(super) x_bytes: String,
    pub(super) x_block: String,
    pub(super) asset: String,
    /// An address of the user.
    pub(super) user_address: String,
    /// The user, as it is exported.
    pub(super) exported: String,
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) number: String,
    pub(super) hash: String,
    pub(super) tx: String,
}

/// Prepares a node.
pub(super) fn prepare(node: &Node, amounts: &Amounts) -> Stock {
    let mut c = CChain(Wire::open(node.address()).unwrap());
    let accounts = c.call("eth_accounts", json!([]));
    let [account, other, sender] =
        [0, 1, 2].map(|n: usize| accounts[n].as_str().unwrap().to_owned());
    let emitter = c.deploy(&account, LOGS);
    let long_code = c.deploy(&account, LONG_CODE);
    let full = c.deploy(&account, SLOTS);
    let transfer = json!({ "from": sender, "to": other, "gas": "0x5208", "value": "0x1" });
    let mut data = transfer.clone();
    data["gas"] = json!("0x7d000");
    data["data"] = json!(format!("0x{}", "00".repeat(LONG)));
    let long = c.block(&data, amounts.long);
    let many = c.block(&transfer, amounts.transfers);
    let log = json!({ "from": sender, "to": emitter, "gas": "0x72bf00" });
    let logs = (0..amounts.logs).map(|_| c.block(&log, 1)).last().unwrap();
    let fill = json!({ "from": sender, "to": full, "gas": "0xd00000" });
    for _ in 0..amounts.slots {
        c.block(&fill, 1);
    }
    // Nonces that are far away wait.
    let waiting = (0..amounts.waiting).map(|n| {
        data["nonce"] = json!(format!("{:#x}", 1_000_000 + n));
        c.call("eth_sendTransaction", json!([data]))
    });
    let waiting = waiting.last().unwrap().as_str().unwrap().to_owned();
    let endless = [0, 1, 2].map(|nonce| {
        let tx = json!([{
            "from": other, "data": "0x5b600056", "gas": "0xe00000", "gasPrice": "0x77359400",
            "nonce": format!("{nonce:#x}"),
        }]);
        c.call("eth_signTransaction", tx)["raw"].take()
    });
    let filters = [
        ("eth_newFilter", json!([{ "fromBlock": "0x0" }])),
        ("eth_newBlockFilter", json!([])),
        ("eth_newPendingTransactionFilter", json!([])),
    ];
    let filters =
        filters.map(|(method, params)| c.call(method, params).as_str().unwrap().to_owned());

    let owner = key(7).address();
    let (tx, asset) = fill_x(node, owner, amounts);
    let block: Value =
        x_call(node, "getBlockByHeight", json!({ "height": "2", "encoding": "json" }));
    let (user_address, exported) = add_user(node, amounts);
    Stock {
        account,
        other,
        sender,
        long_code,
        full,
        transfers: amounts.transfers,
        long,
        many,
        logs,
        endless,
        waiting,
        filters,
        owner: ChainParams::fetch(node.address(), "X", "NAT").unwrap().address(&owner),
        x_tx: tx.id().to_string(),
        x_bytes: hex(tx.bytes()),
        x_block: block["block"]["parentID"].as_str().unwrap().to_owned(),
        asset,
        user_address,
        exported,
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

fn x_call(node: &Node, method: &str, params: Value) -> Value {
    node.rpc().call("/ext/bc/X", &format!("xvm.{method}"), params).unwrap()
}

/// Many outputs and assets for an owner.
fn fill_x(node: &Node, owner: ShortId, amounts: &Amounts) -> (Tx, String) {
    let mut x = XvmClient::new(node.address(), "X");
    let params = ChainParams::fetch(node.address(), "X", "NAT").unwrap();
    let native = params.fee_asset_id;
    let mut wallet = Wallet::new(params, funded(), Vec::new(), now_s());
    wallet.add_utxos(x.walk_utxos(&[wallet.address()], 1024, None).unwrap());
    let mut issue = |wallet: &mut Wallet, tx: Tx| {
        wallet.apply(&tx);
        let id = x.issue_tx(&tx).unwrap();
        until("the X-Chain accepts", || x.get_tx_status(&id).unwrap().is_accepted().then_some(()));
        tx
    };
    let mut last = None;
    for _ in 0..amounts.outputs {
        let outputs = (0..700).map(|n| Wallet::output(native, 1_000_000 + n, owner)).collect();
        let tx = wallet.base_tx(outputs, b"").unwrap();
        last = Some(issue(&mut wallet, tx));
    }
    let mut asset = String::new();
    for _ in 0..amounts.assets {
        let owners = OutputOwners::single(owner);
        let state = InitialState {
            fx_index: FxKind::Secp256k1.index(),
            outputs: vec![Output::SecpTransfer(TransferOutput { amount: 1, owners })],
        };
        let tx = wallet.create_asset(&"n".repeat(128), "NNNN", 0, vec![state]).unwrap();
        asset = issue(&mut wallet, tx).id().to_string();
    }
    (last.unwrap(), asset)
}

/// A user with many addresses: one of them, and what is exported.
fn add_user(node: &Node, amounts: &Amounts) -> (String, String) {
    let user = json!({ "username": USER.0, "password": USER.1 });
    let mut rpc = node.rpc();
    let _: Value = rpc.call("/ext/keystore", "keystore.createUser", user.clone()).unwrap();
    let other = json!({ "username": OTHER_USER, "password": USER.1 });
    let _: Value = rpc.call("/ext/keystore", "keystore.createUser", other).unwrap();
    // The outputs of the X-Chain are the user's, too.
    let mut with_key = user.clone();
    with_key["privateKey"] = json!(key(7).to_text());
    let imported = x_call(node, "importKey", with_key);
    let mut address = imported["address"].as_str().unwrap().to_owned();
    for _ in 0..amounts.addresses {
        let made = x_call(node, "createAddress", user.clone());
        address = made["address"].as_str().unwrap().to_owned();
    }
    let exported: Value = rpc.call("/ext/keystore", "keystore.exportUser", user).unwrap();
    (address, exported["user"].as_str().unwrap().to_owned())
}

struct CChain(Wire);

impl CChain {
    fn call(&mut self, method: &str, params: Value) -> Value {
        let body = request(method, &params).to_string();
        let mut reply = self.0.call(RPC, &body).unwrap().json().unwrap();
        assert!(reply.get("error").is_none(), "{method}: {reply:.300}");
        reply["result"].take()
    }

    fn receipt(&mut self, hash: &Value) -> Value {
        until("there is a receipt", || {
            let receipt = self.call("eth_getTransactionReceipt", json!([hash]));
            receipt.is_object().then_some(receipt)
        })
    }

    fn deploy(&mut self, from: &str, code: &str) -> String {
        let tx = json!([{ "from": from, "data": code, "gas": "0x632ea0" }]);
        let hash = self.call("eth_sendTransaction", tx);
        let receipt = self.receipt(&hash);
        assert_eq!(receipt["status"], "0x1", "{receipt:.300}");
        receipt["contractAddress"].as_str().unwrap().to_owned()
    }

    /// A block with so many of these transactions: all but the first wait for the first one.
    fn block(&mut self, tx: &Value, count: u64) -> Block {
        let mut count_at =
            |tag: &str| self.call("eth_getTransactionCount", json!([tx["from"], tag]));
        // The block before may have left some for one after it.
        let next = until("nothing of the sender waits", || {
            let next = count_at("latest");
            (next == count_at("pending")).then_some(next)
        });
        let next = u64::from_str_radix(&next.as_str().unwrap()[2..], 16).unwrap();
        let mut hash = Value::Null;
        for nonce in (next..next + count).rev() {
            let mut tx = tx.clone();
            tx["nonce"] = json!(format!("{nonce:#x}"));
            hash = self.call("eth_sendTransaction", json!([tx]));
        }
        let receipt = self.receipt(&hash);
        assert_eq!(receipt["status"], "0x1", "{receipt:.300}");
        let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
        let block = Block {
            number: text("blockNumber"),
            hash: text("blockHash"),
            tx: text("transactionHash"),
        };
        let made = self.call("eth_getBlockByNumber", json!([block.number, false]));
        let made = made["transactions"].as_array().unwrap().len() as u64;
        assert!(made >= count / 2, "{made} of {count} transactions came into one block");
        block
    }
}
