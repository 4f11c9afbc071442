//! A small service with the names of the recorded exchanges.

use std::sync::Arc;

use esker_primitives::go;
use esker_rpc::handler::quick;
use esker_rpc::{
    Caller, MethodTable, NoArgs, RpcError, Service,
    object::{self, ObjectReply},
    wire::JsonU64,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(crate) struct Toy;

#[derive(Debug, Serialize, JsonSchema)]
struct HeightReply {
    height: JsonU64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct TextArguments {
    #[serde(rename = "assetID")]
    asset_id: String,
    address: String,
}

impl Toy {
    fn get_height(&self, _: NoArgs) -> Result<HeightReply, RpcError> {
        Ok(HeightReply { height: JsonU64(0) })
    }

    fn get_tx(&self, _: NoArgs) -> Result<(), RpcError> {
        Err(RpcError::new("nil transaction ID"))
    }

    fn get_asset(&self, arguments: TextArguments) -> Result<(), RpcError> {
        Err(RpcError::new(format!("asset '{}' not found", arguments.asset_id)))
    }

    fn get_balance(&self, arguments: TextArguments) -> Result<(), RpcError> {
        let TextArguments { address, .. } = arguments;
        Err(RpcError::new(format!(
            "problem parsing address '{address}': couldn't parse address {}: no separator found in address",
            go::quote(&address)
        )))
    }

    fn echo(&self, arguments: serde_json::Value) -> Result<serde_json::Value, RpcError> {
        Ok(arguments)
    }
}

pub(crate) fn service() -> Service {
    MethodTable::new("xvm")
        .alias("avm")
        .on("getHeight", quick(Toy::get_height))
        .on("getTx", quick(Toy::get_tx))
        .on("getAssetDescription", quick(Toy::get_asset))
        .on("getBalance", quick(Toy::get_balance))
        .deprecated("v1.9.12")
        .on("issueTx", quick(Toy::get_tx))
        .on("echo", quick(Toy::echo))
        .also_named("mirror")
        .bind(Arc::new(Toy))
}

/// Runs a call that needs no more than one thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

pub(crate) fn post(service: &Service, body: &[u8]) -> ObjectReply {
    block_on(object::handle(service, "POST", Some("application/json"), body, &Caller::default()))
}

/// The body of the answer to this call.
pub(crate) fn answer(service: &Service, body: &str) -> String {
    String::from_utf8(post(service, body.as_bytes()).body.into_vec()).unwrap()
}
