//! The clock of the chains.

use esker_client::{EvmClient, Wallet};
use esker_e2e::funds::{funded, key};
use serde_json::{Value, json};

use super::{error, height, imported, last_time, number, receipt, result, send, start, verify};
use crate::support::{accept, local, now_s, wallet};

const DAY: u64 = 24 * 3600;

#[test]
fn time_moves_forward() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_mine", json!([]));
    let begun = last_time(&node);
    assert_eq!(result(&node, "evm_increaseTime", json!([DAY])), DAY);
    result(&node, "evm_mine", json!([]));
    let time = last_time(&node);
    assert!((begun + DAY..begun + DAY + 60).contains(&time), "{begun} {time}");
    assert_eq!(result(&node, "anvil_increaseTime", json!([format!("{DAY:#x}")])), 2 * DAY);

    let at = time + 3 * DAY;
    assert_eq!(
        result(&node, "evm_setNextBlockTimestamp", json!([format!("{at:#x}")])),
        Value::Null
    );
    // A call on the next block sees its time.
    let seen = result(&node, "eth_call", json!([{"data": "0x4260005260206000f3"}, "pending"]));
    assert_eq!(number(&json!(seen.as_str().unwrap()[50..])), at);
    receipt(&node, &send(&node));
    assert_eq!(last_time(&node), at);
    result(&node, "evm_mine", json!([]));
    assert!((at..at + 60).contains(&last_time(&node)));

    let at = at + DAY;
    let moved = result(&node, "evm_setTime", json!([at])).as_u64().unwrap();
    assert!((DAY - 60..=DAY).contains(&moved), "{moved}");
    result(&node, "evm_mine", json!([]));
    assert!((at..at + 60).contains(&last_time(&node)));
}

/// Each block of `esker evm` has a later second than its parent, however fast they follow each other.
#[test]
fn time_moves_forward_from_the_last_block() {
    let node = local().evm().start().unwrap();
    let mut chain = EvmClient::new(node.address(), "evm");
    let mut mine = |blocks: u64| {
        let _mined: Option<Value> = chain.call("anvil_mine", json!([blocks])).unwrap();
        let block: Value = chain.call("eth_getBlockByNumber", json!(["latest", false])).unwrap();
        number(&block["timestamp"])
    };
    let ahead = mine(1000);
    let mut chain = EvmClient::new(node.address(), "evm");
    let offset: u64 = chain.call("evm_increaseTime", json!([DAY])).unwrap();
    assert!(offset > DAY, "{offset}");
    let time = mine(1);
    assert!((ahead + DAY..ahead + DAY + 60).contains(&time), "{ahead} {time}");
}

#[test]
fn blocks_have_a_fixed_distance() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_mine", json!([]));
    let begun = last_time(&node);
    assert_eq!(result(&node, "anvil_setBlockTimestampInterval", json!([600])), Value::Null);
    receipt(&node, &send(&node));
    assert_eq!(last_time(&node), begun + 600);
    result(&node, "anvil_mine", json!([3]));
    assert_eq!(last_time(&node), begun + 2400);
    assert_eq!(result(&node, "evm_removeBlockTimestampInterval", json!([])), true);
    assert_eq!(result(&node, "anvil_removeBlockTimestampInterval", json!([])), false);
    result(&node, "evm_mine", json!([]));
    assert!((begun + 2400..begun + 2460).contains(&last_time(&node)));
}

#[test]
fn hostile_times_change_nothing() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_mine", json!([]));
    let time = last_time(&node);
    let lower = "is lower than previous block's timestamp";
    let late = "is too late: at most 253370764800";
    for method in ["evm_setNextBlockTimestamp", "anvil_setTime", "evm_setTime"] {
        for (value, text) in [
            (json!(time - 1), lower),
            (json!(0), lower),
            (json!(253_370_764_801_u64), late),
            (json!("0xffffffffffffffff"), late),
            (json!("0x10000000000000000"), "has more than 64 bits"),
            (json!("now"), "expected a number of at most 256 bits"),
            (json!(1.5), "expected a number of at most 256 bits"),
            (json!({}), "expected a number of at most 256 bits"),
            (Value::Null, "expected a number of at most 256 bits"),
        ] {
            let got = error(&node, method, json!([value]));
            assert!(got.contains(text), "{method} {value}: {got}");
        }
        assert_eq!(error(&node, method, json!([])), "missing value for required argument 0");
    }
    for method in ["evm_increaseTime", "anvil_setBlockTimestampInterval"] {
        for value in [json!(-1), json!("0xffffffffffffffff"), json!("")] {
            error(&node, method, json!([value]));
        }
    }
    result(&node, "evm_mine", json!([]));
    assert!((time..time + 60).contains(&last_time(&node)));
}

#[test]
fn locktimes_of_the_x_chain_follow_the_clock() {
    let node = local().dev().start().unwrap();
    let mut rich = wallet(&node, "X", funded());
    let params = rich.params().clone();
    let until = now_s() + 30 * DAY;
    let mut poor = Wallet::new(params.clone(), key(7), Vec::new(), until + 1);
    let mut output = Wallet::output(params.fee_asset_id, 50_000_000, poor.owner());
    output.output.owners.locktime = until;
    let tx = rich.base_tx(vec![output], b"").unwrap();
    accept(&mut node.x(), &tx);
    rich.apply(&tx);
    poor.add_utxos(tx.produced_utxos());
    assert_eq!(poor.balance(&params.fee_asset_id), 50_000_000);

    let spend =
        poor.base_tx(vec![Wallet::output(params.fee_asset_id, 1, rich.owner())], b"").unwrap();
    let refused = node.x().issue_tx(&spend).unwrap_err().to_string();
    assert!(refused.contains("locked"), "{refused}");
    result(&node, "evm_increaseTime", json!([29 * DAY]));
    node.x().issue_tx(&spend).unwrap_err();
    result(&node, "evm_increaseTime", json!([DAY + 60]));
    accept(&mut node.x(), &spend);
    let block = node.x().get_block_by_height(node.x().get_height().unwrap()).unwrap();
    assert!(block.time_s() >= until);
}

#[test]
fn moved_time_outlasts_restart_export_and_import() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    result(&node, "anvil_mine", json!([3]));
    result(&node, "evm_increaseTime", json!([400 * DAY]));
    receipt(&node, &send(&node));
    result(&node, "anvil_mine", json!([5, 7 * DAY]));
    let (last, blocks) = (last_time(&node), height(&node));
    let block = result(&node, "eth_getBlockByNumber", json!(["latest", true]));
    node.stop().unwrap();
    verify(folder.path());

    let node = start(folder.path());
    assert_eq!(result(&node, "eth_getBlockByNumber", json!(["latest", true])), block);
    receipt(&node, &send(&node));
    assert!((last..last + 60).contains(&last_time(&node)));
    assert_eq!(height(&node), blocks + 1);
    let block = result(&node, "eth_getBlockByNumber", json!(["latest", true]));
    node.stop().unwrap();
    verify(folder.path());

    let copy = tempfile::tempdir().unwrap();
    let node = imported(folder.path(), copy.path());
    assert_eq!(result(&node, "eth_getBlockByNumber", json!(["latest", true])), block);
    receipt(&node, &send(&node));
    assert!((last..last + 120).contains(&last_time(&node)));
}
