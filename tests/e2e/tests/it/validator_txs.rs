//! Transactions that any validator takes, and that all know.

use alloy_primitives::{Address, Bytes, U256, hex, keccak256};
use alloy_rlp::{Encodable, Header};
use esker_client::Wallet;
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_evm::accounts::{AccountManager as _, KeyRing, address_of_key};
use esker_primitives::keys::PrivateKey;
use esker_primitives::network::LOCAL_ID;
use esker_primitives::{ChainId, TxId, hexfmt};
use esker_transactions::nat::{AtomicTx, EvmOutput, UnsignedAtomicTx, UnsignedImport};
use esker_utxo::{TransferInput, TransferableInput, Utxo};
use serde_json::{Value, json};

use crate::load::{EVM, NAT, status_on_c};
use crate::support::{wait_accepted, wallet};
use crate::validators::{new_network, start, status};

/// Nano-native units that move to the C-Chain, and what their import pays.
pub(crate) const AMOUNT: u64 = 2_000_000_000;
pub(crate) const BURNED: u64 = 100_000_000;

pub(crate) fn chain_id(node: &Node, alias: &str) -> ChainId {
    let params = json!({ "alias": alias });
    let reply: Value = node.rpc().call("/ext/info", "info.getBlockchainID", params).unwrap();
    reply["blockchainID"].as_str().unwrap().parse().unwrap()
}

/// A signed transfer of the account that the local network funds.
pub(crate) fn transfer(nonce: u64) -> String {
    signed_transfer(&funded(), nonce, Address::repeat_byte(7), U256::from(9))
}

/// A signed transfer on the local network's C-Chain.
pub(crate) fn signed_transfer(from: &PrivateKey, nonce: u64, to: Address, value: U256) -> String {
    let keys = KeyRing::new([from.as_bytes().as_slice()]).unwrap();
    let from = address_of_key(&from.public_key());
    let (price, gas) = (300_000_000_000_u128, 21_000_u64);
    let mut elements = Vec::new();
    let fields: [&dyn Encodable; 6] = [&nonce, &price, &gas, &to, &value, &Bytes::new()];
    fields.iter().for_each(|field| field.encode(&mut elements));
    let list = |elements: &[u8]| {
        let mut out = Vec::new();
        Header { list: true, payload_length: elements.len() }.encode(&mut out);
        [out.as_slice(), elements].concat()
    };
    let mut unsigned = elements.clone();
    43_112_u64.encode(&mut unsigned);
    unsigned.extend([0x80, 0x80]);
    let signature = keys.sign_hash(&from, &keccak256(list(&unsigned))).unwrap();
    (43_112 * 2 + 35 + u64::from(signature.v())).encode(&mut elements);
    signature.r().encode(&mut elements);
    signature.s().encode(&mut elements);
    hex::encode_prefixed(list(&elements))
}

/// A signed import of an output of [`AMOUNT`] from the X-Chain on the C-Chain.
pub(crate) fn import_on_c((x, c): (ChainId, ChainId), utxo: &Utxo) -> AtomicTx {
    let (utxo_id, asset_id) = (utxo.utxo_id, utxo.asset_id);
    let input = TransferInput { amount: AMOUNT, sig_indices: vec![0] };
    let unsigned = UnsignedImport {
        network_id: LOCAL_ID,
        blockchain_id: c,
        source_chain: x,
        imported_inputs: vec![TransferableInput { utxo_id, asset_id, input }],
        outputs: vec![EvmOutput {
            address: address_of_key(&key(9).public_key()),
            amount: AMOUNT - BURNED,
            asset_id,
        }],
    };
    AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &[vec![&key(9)]])
}

/// The status of the three transactions on a node.
fn known(node: &Node, (x, evm, atomic): (&TxId, &str, &TxId)) -> [String; 3] {
    let found: Value = node.rpc().call(EVM, "eth_getTransactionByHash", json!([evm])).unwrap();
    let evm = match (&found, &found["blockNumber"]) {
        (Value::Null, _) => "Unknown",
        (_, Value::Null) => "Processing",
        _ => "Accepted",
    };
    let x = node.x().get_tx_status(x).unwrap().status;
    [x, evm.to_owned(), status_on_c(&mut node.rpc(), atomic).unwrap()]
}

#[test]
fn transactions_reach_all_validators_and_outlive_the_one_that_took_them() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    let own = wallet(&nodes[0], "X", funded());
    let to = Wallet::output(own.params().fee_asset_id, AMOUNT, key(9).address());
    let export = own.export(chain_id(&nodes[0], "C"), vec![to]).unwrap();
    nodes[0].x().issue_tx(&export).unwrap();
    for node in &nodes {
        wait_accepted(&mut node.x(), &export.id());
    }

    // Two of four decide nothing, but pass on what they are sent.
    for node in nodes.drain(2..) {
        assert!(node.stop().unwrap().success());
    }
    let (second, first) = (nodes.pop().unwrap(), nodes.pop().unwrap());
    let own = wallet(&first, "X", funded());
    let output = Wallet::output(own.params().fee_asset_id, 5, own.owner());
    let payment = own.base_tx(vec![output], b"to any validator").unwrap();
    first.x().issue_tx(&payment).unwrap();
    let hash: String =
        first.rpc().call(EVM, "eth_sendRawTransaction", json!([transfer(0)])).unwrap();
    let chains = (chain_id(&first, "X"), chain_id(&first, "C"));
    let import = import_on_c(chains, &export.exported_utxos().next().unwrap());
    let params = json!({ "tx": hexfmt::encode_checked(import.bytes()), "encoding": "hex" });
    let _id: Value = first.rpc().call(NAT, "nat.issueTx", params).unwrap();
    let (payment, import) = (payment.id(), import.id());
    let txs = (&payment, hash.as_str(), &import);
    until("the second has them in its pools", || {
        (known(&second, txs) == ["Processing"; 3]).then_some(())
    });

    // The one that took them is gone, and with it its pools.
    first.kill().unwrap();
    let others = [3, 4].map(|number| start(&network, number));
    for node in [&second, &others[0], &others[1]] {
        until("they are accepted without it", || {
            let known = known(node, txs);
            assert!(!known.iter().any(|status| ["Rejected", "Dropped"].contains(&status.as_str())));
            (known == ["Accepted"; 3]).then_some(())
        });
    }
    let first = start(&network, 1);
    until("it has them when it is back", || (known(&first, txs) == ["Accepted"; 3]).then_some(()));
    assert_eq!(status(&first)["role"], "validator");
    for node in [first, second].into_iter().chain(others) {
        assert!(node.stop().unwrap().success());
    }
}
