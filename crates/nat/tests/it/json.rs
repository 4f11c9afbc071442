//! Transactions as clients see them.

use esker_evm::extension::ExtDataView;
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm_state::types::Block;
use esker_nat::AtomicExtension;
use esker_nat::json::tx_json;
use esker_primitives::Id;
use esker_testkit::chains::world::{World, test_file};
use esker_transactions::nat::{AtomicCredential, AtomicTx, UnsignedAtomicTx, UnsignedExport};
use esker_utxo::OutputOwners;
use expect_test::expect;
use serde_json::{Value, json};

use crate::vectors::{bytes, of_kind};

#[test]
fn an_import_and_an_export() {
    let world = World::easy();
    let shown_of = |name: &str| {
        let vectors = of_kind("atomic_tx");
        let (_, input, _) = vectors.iter().find(|(found, ..)| found == name).unwrap();
        let tx = AtomicTx::parse(&bytes(input)).unwrap();
        tx_json(&tx, world.nat.context()).get().to_owned()
    };
    expect![[r#"{"unsignedTx":{"networkID":12345,"blockchainID":"2CA6j5zYzasynPsFeNoqWkmTCt3VScMvXUZHbfDJ8k3oGzAPtU","destinationChain":"2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed","inputs":[{"address":"0x99b9dea54c48dfea6aa9a4ca4623633ee04ddbb5","amount":12526750,"assetID":"2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe","nonce":7}],"exportedOutputs":[{"assetID":"2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe","fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","output":{"addresses":["X-local1lnk637g0edwnqc2tn8tel39652fswa3xzmew5p"],"amount":10000000,"locktime":0,"threshold":1}}]},"credentials":[{"fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","credential":{"signatures":["0x5f50d0ee1efaf7fc16bd9d4c2fea6036879feca686f3f72b3c549973a59229a36aef7de393706fe033c6a222f3cc44a13c709df71153db39c39a53df95f7b7d401"]}}],"id":"2ntpn66MpeX45kMVY6NiJoyYvWhYRKiRpH96F4dJ8neq2sbChK"}"#]].assert_eq(&shown_of("atomic_export_derived"));
    expect![[r#"{"unsignedTx":{"networkID":12345,"blockchainID":"2XFHbWN57HrjHW1JqhP9wzj92eYHpiH7EGLnY9mNfWn9w9CvWR","sourceChain":"2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed","importedInputs":[{"txID":"23oa4B4QZpVADXrc7c588qs2Y3eph8kihfFBX5mh7N8E3akDti","outputIndex":1,"assetID":"2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe","fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","input":{"amount":50000000000000,"signatureIndices":[0]}},{"txID":"2i27LUc8t3RmwzQqWArQ5WQoETWLKEKNyDr7x8JZtseN94pzH4","outputIndex":1,"assetID":"2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe","fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","input":{"amount":50000000000000,"signatureIndices":[0]}}],"outputs":[{"address":"0x6dc8ea73dd39ab12fa2ecbc3427abaeb87d56fd8","amount":100000000000000,"assetID":"2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"}]},"credentials":[{"fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","credential":{"signatures":["0x0d9f115cd63c3ab78b5b82cfbe4339cd6be87f21cda14cf192b269c7a6cb2d03666aa8f8b23ca0a2ceee4050e75c9b05525a17aa1dd0e9ea391a185ce395943f00"]}},{"fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","credential":{"signatures":["0x0d9f115cd63c3ab78b5b82cfbe4339cd6be87f21cda14cf192b269c7a6cb2d03666aa8f8b23ca0a2ceee4050e75c9b05525a17aa1dd0e9ea391a185ce395943f00"]}}],"id":"2sinVZEYcHtHgDgjgRFcstats5f17PeWey3uY7agqoD6hD6ejz"}"#]].assert_eq(&shown_of("atomic_import_from_block"));
}

/// Values that no valid transaction has in its credential slots.
#[test]
fn what_stands_in_place_of_a_credential() {
    let world = World::easy();
    let unsigned = UnsignedExport { destination_chain: Id::new([7; 32]), ..Default::default() };
    let credentials = vec![
        AtomicCredential::Input(vec![3]),
        AtomicCredential::Owners(OutputOwners::single(
            esker_testkit::chains::world::key(1).address(),
        )),
    ];
    let tx = AtomicTx::new(UnsignedAtomicTx::Export(unsigned), credentials);
    let shown: Value = serde_json::from_str(tx_json(&tx, world.nat.context()).get()).unwrap();
    assert_eq!(shown["credentials"][0]["credential"], json!({"signatureIndices": [3]}));
    let address = shown["credentials"][1]["credential"]["addresses"][0].as_str().unwrap();
    // A chain without a name is shown by its ID.
    assert!(address.starts_with(&format!("{}-local1", Id::new([7; 32]))), "{address}");
}

#[test]
fn what_blocks_carry() {
    let world = World::easy();
    let rules = CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default());
    let view = AtomicExtension::new(world.nat.context().clone(), rules);
    let recorded = String::from_utf8(test_file("vectors/chain/local-1.jsonl")).unwrap();
    let mut shown = 0;
    for line in recorded.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["chain"] != "C" {
            continue;
        }
        let block = Block::parse(&bytes(&line["bytes"])).unwrap();
        let list: Vec<Value> =
            serde_json::from_str(view.transactions(&block.ext_data).unwrap().get()).unwrap();
        assert_eq!(list.is_empty(), block.ext_data.is_empty());
        shown += list.iter().filter(|tx| tx["id"].is_string()).count();
    }
    assert!(shown > 4, "{shown}");
    assert!(view.transactions(&[0, 0, 0]).is_none());
}
