//! Assets that move between the chains of one node, over RPC only.

use std::collections::BTreeSet;

use esker_client::{RpcClient, Wallet};
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::{Node, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::codec::Decode;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, ChainId, ShortId, address, hexfmt};
use esker_transactions::nat::{AtomicTx, EvmOutput, UnsignedAtomicTx, UnsignedImport};
use esker_utxo::{
    OutputOwners, TransferInput, TransferOutput, TransferableInput, TransferableOutput, Utxo,
};
use serde_json::{Value, json};

use crate::support::{accept, json_lines, local, now_s, wait_accepted, wallet};

const X: &str = "/ext/bc/X";
const NAT: &str = "/ext/bc/C/nat";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// One unit of the native asset, in billionths.
const ONE: u64 = 1_000_000_000;

/// A node of the development network, where gas costs 1 gwei.
fn start() -> Node {
    local().dev().start().unwrap()
}

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params)
        .map_err(|error| error.rpc_message().unwrap_or_else(|| panic!("{error}")).to_owned())
}

/// With the credentials of the test's user.
fn alice(mut params: Value) -> Value {
    params["username"] = json!("alice");
    params["password"] = json!(PASSWORD);
    params
}

/// A user with these keys on both chains.
fn create_user(rpc: &mut RpcClient, keys: &[PrivateKey]) {
    call(rpc, "/ext/keystore", "keystore.createUser", alice(json!({}))).unwrap();
    for key in keys {
        let key = alice(json!({ "privateKey": key.to_text() }));
        call(rpc, X, "xvm.importKey", key.clone()).unwrap();
        call(rpc, NAT, "nat.importKey", key).unwrap();
    }
}

fn on(chain: &str, owner: ShortId) -> String {
    address::format(chain, "local", &owner)
}

fn account(key: &PrivateKey) -> String {
    address_of_key(&key.public_key()).to_checksum(None)
}

/// Balance of an account, in wei.
fn balance(rpc: &mut RpcClient, account: &str) -> u128 {
    let balance = call(rpc, "/ext/bc/C/rpc", "evm_getBalance", json!([account, "latest"]));
    let text = balance.unwrap().as_str().unwrap().to_owned();
    u128::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// Waits until an atomic transaction is accepted; gives its height.
fn accepted(rpc: &mut RpcClient, id: &Value) -> u64 {
    until(&format!("{id} is accepted"), || {
        let params = json!({ "txID": id, "includeReason": true });
        let status = call(rpc, NAT, "nat.getAtomicTxStatus", params).unwrap();
        assert_ne!(status["status"], "Dropped", "{status}");
        assert_ne!(status["status"], "Unknown", "{status}");
        let height = status["blockHeight"].as_str()?;
        Some(height.parse().unwrap())
    })
}

/// Exports outputs of the funded key from X to C; gives the UTXOs.
fn export_to_c(node: &Node, outputs: Vec<TransferableOutput>) -> Vec<Utxo> {
    let export = wallet(node, "X", funded()).export(c_id(node), outputs).unwrap();
    accept(&mut node.x(), &export);
    export.exported_utxos().collect()
}

fn chain_id(node: &Node, alias: &str) -> ChainId {
    let found =
        call(&mut node.rpc(), "/ext/info", "info.getBlockchainID", json!({ "alias": alias }));
    found.unwrap()["blockchainID"].as_str().unwrap().parse().unwrap()
}

fn c_id(node: &Node) -> ChainId {
    chain_id(node, "C")
}

fn native(node: &Node) -> AssetId {
    node.x().get_asset_description("NAT").unwrap().asset_id
}

/// The UTXOs that X exported to an owner on C, by pages of `limit`; each page except the last is full.
fn walk(rpc: &mut RpcClient, owner: ShortId, limit: usize) -> Vec<Utxo> {
    let mut found = Vec::new();
    let mut start = Value::Null;
    loop {
        let params = json!({
            "addresses": on("C", owner), "sourceChain": "X", "limit": limit, "startIndex": start,
        });
        let page = call(rpc, NAT, "nat.getUTXOs", params).unwrap();
        let texts = page["utxos"].as_array().unwrap();
        for text in texts {
            let bytes = hexfmt::decode_checked(text.as_str().unwrap()).unwrap();
            found.push(Utxo::from_versioned_bytes(&bytes, bytes.len()).unwrap());
        }
        assert_eq!(page["numFetched"], texts.len().to_string());
        if texts.len() < limit {
            return found;
        }
        start = page["endIndex"].clone();
    }
}

/// A signed import of one UTXO: all but `burned` to an account.
fn import(
    node: &Node,
    utxo: &Utxo,
    sig_indices: Vec<u32>,
    signers: Vec<&PrivateKey>,
    burned: u64,
) -> AtomicTx {
    let amount = utxo.output.as_transfer().unwrap().amount;
    let (utxo_id, asset_id) = (utxo.utxo_id, utxo.asset_id);
    let input = TransferInput { amount, sig_indices };
    let unsigned = UnsignedImport {
        network_id: 12345,
        blockchain_id: c_id(node),
        source_chain: chain_id(node, "X"),
        imported_inputs: vec![TransferableInput { utxo_id, asset_id, input }],
        outputs: vec![EvmOutput {
            address: address_of_key(&key(9).public_key()),
            amount: amount - burned,
            asset_id,
        }],
    };
    AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &[signers])
}

fn issue(rpc: &mut RpcClient, bytes: &[u8]) -> Result<Value, String> {
    let tx = hexfmt::encode_checked(bytes);
    Ok(call(rpc, NAT, "nat.issueTx", json!({ "tx": tx }))?["txID"].clone())
}

#[test]
fn from_x_to_c_and_back_with_a_user() {
    let node = start();
    let mut rpc = node.rpc();
    create_user(&mut rpc, &[funded()]);
    let there = account(&key(7));
    let to = json!({ "to": on("C", funded().address()), "amount": 5 * ONE, "assetID": "NAT" });
    let sent = call(&mut rpc, X, "xvm.export", alice(to)).unwrap();
    wait_accepted(&mut node.x(), &sent["txID"].as_str().unwrap().parse().unwrap());
    let refused = call(&mut rpc, NAT, "nat.import", alice(json!({ "sourceChain": "X" })));
    assert_eq!(refused.unwrap_err(), "argument 'to' not given");
    // The export names one address, the import pays another one's account: whoever has the key says where to.
    let args = alice(json!({ "sourceChain": "X", "to": there, "baseFee": ONE }));
    let imported = call(&mut rpc, NAT, "nat.import", args.clone()).unwrap();
    accepted(&mut rpc, &imported["txID"]);
    assert_eq!(balance(&mut rpc, &there), u128::from(5 * ONE - 11_230) * 1_000_000_000);
    let nothing = call(&mut rpc, NAT, "nat.import", args).unwrap_err();
    assert_eq!(nothing, "insufficient AVAX funds to pay transaction fee");

    let before = balance(&mut rpc, &account(&funded()));
    let to = on("X", key(8).address());
    let args = json!({ "to": to, "amount": ONE, "assetID": "NAT", "baseFee": "1000000000" });
    let sent = call(&mut rpc, NAT, "nat.export", alice(args)).unwrap();
    accepted(&mut rpc, &sent["txID"]);
    let paid = before - balance(&mut rpc, &account(&funded()));
    assert_eq!(paid, u128::from(ONE + 11_230) * 1_000_000_000);
    let exported = || node.x().walk_utxos(std::slice::from_ref(&to), 1024, Some("C")).unwrap();
    let owner = wallet(&node, "X", key(8));
    let tx = owner.import(c_id(&node), &exported(), owner.owner()).unwrap();
    accept(&mut node.x(), &tx);
    assert!(exported().is_empty());
    let fee = owner.params().tx_fee;
    assert_eq!(node.x().get_balance(&to, "NAT").unwrap().balance, ONE - fee);
}

#[test]
fn many_utxos_over_several_pages() {
    let node = start();
    let mut rpc = node.rpc();
    let owner = key(5);
    create_user(&mut rpc, std::slice::from_ref(&owner));
    let output = Wallet::output(native(&node), ONE / 100, owner.address());
    let exported = export_to_c(&node, vec![output; 100]);
    for limit in [7, 100, 1024] {
        let found = walk(&mut rpc, owner.address(), limit);
        let ids: BTreeSet<_> = found.iter().map(|utxo| utxo.utxo_id).collect();
        assert_eq!((found.len(), ids.len()), (100, 100), "pages of {limit}");
        assert!(exported.iter().all(|utxo| ids.contains(&utxo.utxo_id)));
    }
    // As many as go into one transaction, then the others.
    let args = alice(json!({ "sourceChain": "X", "to": account(&owner), "baseFee": ONE }));
    let mut left = vec![100];
    while left.last() != Some(&0) {
        let sent = call(&mut rpc, NAT, "nat.import", args.clone()).unwrap();
        accepted(&mut rpc, &sent["txID"]);
        left.push(walk(&mut rpc, owner.address(), 1024).len());
    }
    assert_eq!(left, [100, 18, 0]);
    let gas = 2 * (10_000 + 82 + 60) + 100 * 1088;
    let whole = u128::from(ONE - gas) * 1_000_000_000;
    assert_eq!(balance(&mut rpc, &account(&owner)), whole);
}

#[test]
fn several_owners_and_a_time_that_has_not_come() {
    let node = start();
    let mut rpc = node.rpc();
    create_user(&mut rpc, &[key(1)]);
    let mut addresses: Vec<ShortId> = [1, 2, 3].map(|n| key(n).address()).into();
    addresses.sort();
    let output = |threshold, locktime, amount| TransferableOutput {
        asset_id: native(&node),
        output: TransferOutput {
            amount,
            owners: OutputOwners { locktime, threshold, addresses: addresses.clone() },
        },
    };
    let hour = now_s() + 3600;
    let mut outputs = vec![output(2, 0, ONE), output(1, hour, 2 * ONE)];
    TransferableOutput::sort(&mut outputs);
    let utxos = export_to_c(&node, outputs);
    let of = |amount| {
        utxos.iter().find(|utxo| utxo.output.as_transfer().unwrap().amount == amount).unwrap()
    };
    let (shared, locked) = (of(ONE), of(2 * ONE));
    // One key is not enough for the one, and too early for the other.
    let args = alice(json!({ "sourceChain": "X", "to": account(&key(1)) }));
    let refused = call(&mut rpc, NAT, "nat.import", args.clone()).unwrap_err();
    assert_eq!(refused, "insufficient AVAX funds to pay transaction fee");
    let place = |n: u8| {
        let at = addresses.iter().position(|address| *address == key(n).address()).unwrap();
        u32::try_from(at).unwrap()
    };
    let early = import(&node, locked, vec![place(1)], vec![&key(1)], ONE / 100);
    let refused = issue(&mut rpc, early.bytes()).unwrap_err();
    assert_eq!(refused, "import tx transfer failed verification: output is time locked");
    let alone = import(&node, shared, vec![place(1)], vec![&key(1)], ONE / 100);
    let refused = issue(&mut rpc, alone.bytes()).unwrap_err();
    let text = "import tx transfer failed verification: input has less signers than expected";
    assert_eq!(refused, text);
    // With a second key it goes.
    let second = alice(json!({ "privateKey": key(3).to_text() }));
    call(&mut rpc, NAT, "nat.importKey", second).unwrap();
    let sent = call(&mut rpc, NAT, "nat.import", args).unwrap();
    accepted(&mut rpc, &sent["txID"]);
    assert!(balance(&mut rpc, &account(&key(1))) > 0);
    assert_eq!(walk(&mut rpc, key(2).address(), 1024), std::slice::from_ref(locked));
}

#[test]
fn double_imports_and_malformed_bytes() {
    let node = start();
    let mut rpc = node.rpc();
    let owner = key(4);
    let output = Wallet::output(native(&node), ONE, owner.address());
    let utxo = export_to_c(&node, vec![output]).remove(0);
    let tx = import(&node, &utxo, vec![0], vec![&owner], ONE / 100);
    let bytes = tx.bytes();
    // Truncated, continued, too long, signed by somebody else, for another chain.
    for end in [0, 1, 2, 40, bytes.len() - 66, bytes.len() - 1] {
        let refused = issue(&mut rpc, &bytes[..end]).unwrap_err();
        assert!(refused.starts_with("problem parsing transaction: "), "{end}: {refused}");
    }
    let refused = issue(&mut rpc, &[bytes.as_ref(), &[0]].concat()).unwrap_err();
    assert!(refused.contains("trailing buffer space"), "{refused}");
    let refused = issue(&mut rpc, &vec![0; 300 * 1024]).unwrap_err();
    assert!(refused.starts_with("problem parsing transaction: "), "{refused}");
    let forged = import(&node, &utxo, vec![0], vec![&key(6)], ONE / 100);
    let refused = issue(&mut rpc, forged.bytes()).unwrap_err();
    let text = "import tx transfer failed verification: wrong signature: expected signature from";
    assert!(refused.starts_with(text), "{refused}");
    let UnsignedAtomicTx::Import(mut unsigned) = tx.unsigned().clone() else { panic!("an import") };
    unsigned.blockchain_id = chain_id(&node, "X");
    let elsewhere = AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &[vec![&owner]]);
    let refused = issue(&mut rpc, elsewhere.bytes()).unwrap_err();
    assert_eq!(refused, "wrong blockchain ID provided");

    // Both at once: one is accepted, the other refused, or dropped with the reason.
    let rival = import(&node, &utxo, vec![0], vec![&owner], ONE / 50);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let issued = [&tx, &rival].map(|tx| {
            let mut rpc = node.rpc();
            scope.spawn(move || issue(&mut rpc, tx.bytes()))
        });
        issued.map(|thread| thread.join().unwrap()).into()
    });
    let mut ends = [&tx, &rival].map(|tx| {
        until("one is accepted, the other is not", || {
            let params = json!({ "txID": tx.id(), "includeReason": true });
            let status = call(&mut rpc, NAT, "nat.getAtomicTxStatus", params).unwrap();
            let end = status["status"].as_str().unwrap().to_owned();
            if end == "Dropped" {
                assert!(!status["reason"].as_str().unwrap().is_empty());
            }
            (end != "Processing").then_some(end)
        })
    });
    for (end, outcome) in ends.iter().zip(&outcomes) {
        assert_eq!(end == "Unknown", outcome.is_err(), "{end} {outcome:?}");
    }
    ends.sort();
    assert_eq!(ends[0], "Accepted", "{ends:?}");
    assert!(["Dropped", "Unknown"].contains(&ends[1].as_str()), "{ends:?}");
    // Once more, each: what it imports is gone.
    for tx in [&tx, &rival] {
        let refused = issue(&mut rpc, tx.bytes()).unwrap_err();
        assert!(refused.starts_with("failed to fetch import UTXOs from "), "{refused}");
    }
}

#[test]
fn what_the_pool_drops_and_refuses_is_in_the_log_of_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let (data, logs) = (folder.path().join("data"), folder.path().join("logs"));
    let node = local().dev().data_dir(&data).start().unwrap();
    let output = Wallet::output(native(&node), ONE, key(4).address());
    let utxo = export_to_c(&node, vec![output]).remove(0);
    let cheap = import(&node, &utxo, vec![0], vec![&key(4)], ONE / 100);
    let better = import(&node, &utxo, vec![0], vec![&key(4)], ONE / 50);
    assert!(node.stop().unwrap().success());

    let slow = local().dev().data_dir(&data).args(&["--block-time", "1h", "--log-level", "debug"]);
    let node = slow.args(&["--log-format", "json", "--log-dir"]).arg(&logs).start().unwrap();
    let mut rpc = node.rpc();
    // The first block after the start is not held back.
    let accounts = call(&mut rpc, "/ext/bc/C/rpc", "eth_accounts", json!([])).unwrap();
    let tx = json!([{ "from": accounts[0], "to": accounts[1] }]);
    let hash = call(&mut rpc, "/ext/bc/C/rpc", "eth_sendTransaction", tx).unwrap();
    until("the first block is made", || {
        let receipt = json!([hash]);
        let receipt = call(&mut rpc, "/ext/bc/C/rpc", "eth_getTransactionReceipt", receipt);
        (!receipt.unwrap().is_null()).then_some(())
    });
    issue(&mut rpc, cheap.bytes()).unwrap();
    issue(&mut rpc, better.bytes()).unwrap();
    let refused = issue(&mut rpc, cheap.bytes()).unwrap_err();
    assert!(node.stop().unwrap().success());

    let lines = json_lines(&logs.join("C.log"));
    let with = |message: &str| {
        let mut found: Vec<_> = lines.iter().filter(|line| line["message"] == message).collect();
        assert_eq!(found.len(), 1, "{message}: {lines:?}");
        found.remove(0)
    };
    let line = with("atomic transaction dropped");
    assert_eq!((&line["level"], &line["logger"]), (&json!("INFO"), &json!("C")), "{line}");
    assert_eq!(line["txID"], json!(cheap.id()), "{line}");
    let reason = format!("replaced by {}, which pays more", better.id());
    assert_eq!(line["reason"], json!(reason), "{line}");
    let line = with("transaction refused");
    assert_eq!((&line["level"], &line["logger"]), (&json!("DEBUG"), &json!("C")), "{line}");
    assert_eq!((&line["txID"], &line["error"]), (&json!(cheap.id()), &json!(refused)), "{line}");
}

#[test]
fn another_asset_stays_where_it_is() {
    let node = start();
    let mut rpc = node.rpc();
    create_user(&mut rpc, &[funded()]);
    let owner = funded().address();
    let holder = json!([{ "amount": 50, "address": on("X", owner) }]);
    let asset = alice(json!({
        "name": "Coin", "symbol": "COIN", "denomination": 0, "initialHolders": holder,
    }));
    let coin = call(&mut rpc, X, "xvm.createFixedCapAsset", asset).unwrap()["assetID"].clone();
    wait_accepted(&mut node.x(), &coin.as_str().unwrap().parse().unwrap());
    let to = json!({ "to": on("C", owner), "amount": 20, "assetID": coin });
    let sent = call(&mut rpc, X, "xvm.export", alice(to)).unwrap();
    wait_accepted(&mut node.x(), &sent["txID"].as_str().unwrap().parse().unwrap());
    let found = walk(&mut rpc, owner, 1024);
    assert_eq!(json!(found[0].asset_id), coin);
    let raw = import(&node, &found[0], vec![0], vec![&funded()], 1);
    let refused = issue(&mut rpc, raw.bytes()).unwrap_err();
    assert_eq!(refused, "import output cannot contain non-AVAX in Banff");
    // Together with coins that pay for it, too.
    export_to_c(&node, vec![Wallet::output(native(&node), ONE, owner)]);
    let args = alice(json!({ "sourceChain": "X", "to": account(&funded()) }));
    let refused = call(&mut rpc, NAT, "nat.import", args).unwrap_err();
    assert_eq!(refused, "import output cannot contain non-AVAX in Banff");
    let args = alice(json!({ "to": on("X", owner), "amount": 1, "assetID": coin }));
    let refused = call(&mut rpc, NAT, "nat.export", args).unwrap_err();
    let text = "couldn't create tx: couldn't generate tx inputs/signers: insufficient funds";
    assert_eq!(refused, text);
    assert_eq!(walk(&mut rpc, owner, 1024).len(), 2);
}

#[test]
fn exports_to_p_stay_visible() {
    let node = start();
    let mut rpc = node.rpc();
    create_user(&mut rpc, &[FUNDED.parse().unwrap()]);
    let to = on("P", key(2).address());
    let args = alice(json!({ "to": to, "amount": "0x3b9aca00" }));
    let sent = call(&mut rpc, NAT, "nat.exportNative", args).unwrap();
    accepted(&mut rpc, &sent["txID"]);
    let params = json!({ "addresses": [to], "sourceChain": "C" });
    for _ in 0..2 {
        let there = call(&mut rpc, "/ext/bc/P", "platform.getUTXOs", params.clone()).unwrap();
        assert_eq!(there["numFetched"], "1");
    }
    let shown = json!({ "txID": sent["txID"], "encoding": "json" });
    let shown = call(&mut rpc, NAT, "nat.getAtomicTx", shown).unwrap();
    let output = &shown["tx"]["unsignedTx"]["exportedOutputs"][0]["output"];
    assert_eq!((&output["addresses"][0], &output["amount"]), (&json!(to), &json!(ONE)));
}
