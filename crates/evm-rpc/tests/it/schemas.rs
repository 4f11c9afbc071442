//! The schemas of arguments are written beside their decoders: what they describe is read.

use esker_evm_rpc::wire::call::{AccountOverride, BlockOverrides, SimulateArgs, TransactionArgs};
use esker_evm_rpc::wire::{LogFilter, ReceiptQuery};
use esker_go_json::args::Argument;
use serde_json::{Value, json};

use crate::decoders::decode;

/// Each described member is read: a value that none of them takes is refused there. Members that take anything are named.
#[track_caller]
fn every_member_is_read<T: Argument>(take_anything: &[&str]) {
    let schema = schemars::schema_for!(T).to_value();
    let members = schema["properties"].as_object().unwrap();
    assert!(!members.is_empty());
    for name in members.keys() {
        let wrong = json!({ name: [[5]] }).to_string();
        let is_refused = decode::<T>(&wrong).is_err();
        assert_eq!(is_refused, !take_anything.contains(&name.as_str()), "{name}");
        assert!(decode::<T>(&json!({ name: Value::Null }).to_string()).is_ok(), "{name}");
    }
}

#[test]
fn members_of_arguments() {
    every_member_is_read::<TransactionArgs>(&["authorizationList"]);
    every_member_is_read::<AccountOverride>(&[]);
    every_member_is_read::<BlockOverrides>(&[]);
    every_member_is_read::<SimulateArgs>(&[]);
    every_member_is_read::<LogFilter>(&[]);
    every_member_is_read::<ReceiptQuery>(&[]);
}
