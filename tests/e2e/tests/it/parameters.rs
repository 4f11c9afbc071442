//! The parameters of a network are fixed: a start with other parameters than the data folder's is refused.

use std::fs;
use std::path::Path;

use esker_client::RpcClient;
use esker_e2e::files::tests_path;
use esker_e2e::{NodeBuilder, until};
use serde_json::{Value, json};

use crate::support::local;

const RPC: &str = "/ext/bc/C/rpc";
const ALICE: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/// Changes a network file.
type Change = fn(&mut Value);

fn dev(folder: &Path, args: &[&str]) -> NodeBuilder {
    args.iter().fold(local().dev().data_dir(folder), |node, arg| node.arg(*arg))
}

/// Sends a transaction and waits until it is mined.
fn send(rpc: &mut RpcClient) {
    let tx = json!([{"from": ALICE, "to": ALICE, "value": "0x1"}]);
    let hash: String = rpc.call(RPC, "eth_sendTransaction", tx).unwrap();
    until("the transaction is mined", || {
        let receipt: Value = rpc.call(RPC, "eth_getTransactionReceipt", json!([hash])).unwrap();
        (!receipt.is_null()).then_some(())
    });
}

/// Makes a folder that holds a transaction.
fn made(folder: &Path, args: &[&str]) {
    let node = dev(folder, args).start().unwrap();
    send(&mut node.rpc());
    assert!(node.stop().unwrap().success());
}

/// The error of a start that is refused; the folder's data stay as they are.
fn refused(folder: &Path, node: NodeBuilder) -> String {
    let data = || fs::read(folder.join("esker.mdb")).unwrap();
    let before = data();
    let Err(error) = node.start() else { panic!("the start was not refused") };
    let error = error.to_string();
    assert!(error.contains("exit status: 2"), "{error}");
    assert!(before == data(), "the refused start wrote into the folder");
    error
}

#[test]
fn another_chain_id_or_gas_limit_or_fee_rule_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), &[]);
    for (args, text) in [
        (
            &["--chain-id", "1337"][..],
            "chain-id of chain C: the data folder was made with 43112, this start has 1337: start with 43112 \
             (--chain-id), or choose another --data-dir",
        ),
        (
            &["--gas-limit", "15000000"],
            "gas-limit of chain C: the data folder was made with 30000000, this start has 15000000",
        ),
        (
            &["--real-fees"],
            "gas-limit of chain C: the data folder was made with 30000000, this start has default: \
             start with 30000000 (--gas-limit, --real-fees), or choose another --data-dir",
        ),
    ] {
        let error = refused(folder.path(), dev(folder.path(), args));
        assert!(error.contains(text), "{error}");
    }
    // As it was made it goes on.
    made(folder.path(), &[]);
}

#[test]
fn a_folder_with_parameters_of_its_own_wants_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let own = ["--chain-id", "1337", "--gas-limit", "20000000", "--real-fees"];
    made(folder.path(), &own);
    let error = refused(folder.path(), dev(folder.path(), &[]));
    assert!(error.contains("made with 1337, this start has 43112"), "{error}");
    made(folder.path(), &own);
}

#[test]
fn a_folder_of_another_network_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), &[]);
    let other = || local().network("local").data_dir(folder.path());
    let error = refused(folder.path(), other());
    let text = "the data folder belongs to network \"dev\", this start is of network \"local\" (they differ in \
                genesis of C-Chain): choose the other network, or another --data-dir";
    assert!(error.contains(text), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let node = local().network("local").data_dir(folder.path()).start().unwrap();
    assert!(node.stop().unwrap().success());
    let error = refused(folder.path(), dev(folder.path(), &[]));
    assert!(
        error.contains("belongs to network \"local\", this start is of network \"dev\""),
        "{error}"
    );
}

#[test]
fn fees_and_forks_of_a_network_file_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("network.json");
    let data = folder.path().join("data");
    let network = fs::read(tests_path("networks/two-chains.json")).unwrap();
    let network: Value = serde_json::from_slice(&network).unwrap();
    let start = |change: Change| {
        let mut network = network.clone();
        change(&mut network);
        fs::write(&file, network.to_string()).unwrap();
        local().network(&file).data_dir(&data)
    };
    let node = start(|_| ()).start().unwrap();
    assert!(node.stop().unwrap().success());
    let cases: [(Change, &str); 2] = [
        (
            |file| file["esker"]["fees"]["txFee"] = json!(77),
            "tx-fee of chain X: the data folder was made with",
        ),
        (
            |file| file["esker"]["evm"]["blockGasCostStep"] = json!(7),
            "block-gas-cost-step of chain C: the data folder was made with",
        ),
    ];
    for (change, text) in cases {
        let error = refused(&data, start(change));
        assert!(error.contains(text), "{error}");
    }
    let node = start(|_| ()).start().unwrap();
    assert!(node.stop().unwrap().success());
}
