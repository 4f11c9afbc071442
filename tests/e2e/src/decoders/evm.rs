//! Requests of the positional dialect, and the arguments of the EVM's methods.

use std::sync::{Arc, LazyLock};

use esker_evm_rpc::wire::call::{AccessListArg, BlockOverrides, StateOverrides, TransactionArgs};
use esker_evm_rpc::wire::{
    Addr, AssetId, Big, BlockNumber, BlockNumberOrHash, Data, Hash, StorageKey, Uint, Uint64,
};
use esker_go_json::args::Argument;
use esker_go_json::{Document, Kind, to_go_vec};
use esker_rpc::handler::quick;
use esker_rpc::positional::{Answer, Limits, Server};
use esker_rpc::{Caller, MethodTable, RpcError};
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use super::primitives::value_of;

static SERVER: LazyLock<(Server, Runtime)> = LazyLock::new(|| {
    let service = MethodTable::new("evm")
        .alias("eth")
        .on_list("chainId", quick(|(), ()| Ok("0xa868")))
        .on_list(
            "getBalance",
            quick(|(), (Addr(address), _): (Addr, BlockNumberOrHash)| {
                Ok(Data(address.to_vec().into()))
            }),
        )
        .params(&["address", "block"])
        .on_list(
            "call",
            quick(|(), (args, _): (TransactionArgs, Option<StateOverrides>)| {
                Err::<(), _>(RpcError::new(format!("{args:?}")))
            }),
        )
        .params(&["transaction", "stateOverrides"])
        .bind(Arc::new(()));
    let runtime = Builder::new_current_thread().enable_time().build();
    (Server::new(service, Limits::default()), runtime.expect("a runtime without threads"))
});

/// A request's body. Its answer is nothing, one JSON object, or an array of them.
pub(super) fn envelope(bytes: &[u8]) -> bool {
    let (server, runtime) = &*SERVER;
    let Answer { body, failed, .. } =
        runtime.block_on(server.answer(bytes, None, &Caller::default()));
    if body.is_empty() {
        assert!(!failed);
        return false;
    }
    let answer = Document::whole(&body).expect("an answer is one value");
    match answer.kind() {
        Kind::Object => {}
        Kind::Array => assert!(answer.first_element().is_some(), "no empty batch"),
        kind => panic!("an answer that is {kind}"),
    }
    !failed
}

/// One JSON value, as an argument of every type.
pub(super) fn arguments(bytes: &[u8]) -> bool {
    let Some(value) = value_of(Document::first(bytes)) else { return false };
    let scalars = [
        both_ways::<Uint64>(value),
        both_ways::<Uint>(value),
        both_ways::<Big>(value),
        both_ways::<Data>(value),
        both_ways::<Hash>(value),
        both_ways::<Addr>(value),
    ];
    let others = [
        value_of(AssetId::decode(value)).is_some(),
        value_of(BlockNumber::decode(value)).is_some(),
        value_of(BlockNumberOrHash::decode(value)).is_some(),
        value_of(AccessListArg::decode(value)).is_some(),
        value_of(TransactionArgs::decode(value)).is_some(),
        value_of(StateOverrides::decode(value)).is_some(),
        value_of(BlockOverrides::decode(value)).is_some(),
        value.as_str().and_then(|text| value_of(StorageKey::parse(&text))).is_some(),
    ];
    scalars.into_iter().chain(others).any(|taken| taken)
}

/// A decoded value is written in a form that decodes to the same value.
fn both_ways<T: Argument + Serialize + PartialEq + std::fmt::Debug>(value: Document<'_>) -> bool {
    let Some(decoded) = value_of(T::decode(value)) else { return false };
    let text = to_go_vec(&decoded).expect("a scalar has a JSON form");
    let written = Document::whole(&text).expect("what is written is JSON");
    assert_eq!(T::decode(written).as_ref(), Ok(&decoded));
    true
}
