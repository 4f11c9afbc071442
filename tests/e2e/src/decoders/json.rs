//! JSON as Go reads it, and requests of the object dialect.

use std::sync::{Arc, LazyLock};

use esker_primitives::Id;
use esker_rpc::wire::{CappedLimit, Encoding, JsonU8, JsonU32, JsonU64};
use esker_rpc::{MethodTable, NoArgs, RpcError, Service, go_json, j2};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::primitives::told;

/// The first value of the bytes, written and read again.
pub(super) fn json(bytes: &[u8]) {
    told(go_json::decode::<Everything>(bytes));
    let Some(value) = told(go_json::decode::<Value>(bytes)) else { return };
    let text = told(go_json::to_go_vec(&value)).expect("a value can be written");
    // Not compared: a float may lose its last bit on the way.
    told(go_json::decode::<Value>(&text)).expect("what was written can be read");
}

/// One argument of every kind that methods take.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Everything {
    number: JsonU64,
    medium: JsonU32,
    small: JsonU8,
    limit: CappedLimit,
    text: String,
    flag: bool,
    id: Id,
    encoding: Encoding,
    list: Vec<String>,
    inner: Option<Box<Everything>>,
}

struct Echo;

impl Echo {
    fn everything(&self, arguments: Everything) -> Result<Everything, RpcError> {
        Ok(arguments)
    }

    fn nothing(&self, _: NoArgs) -> Result<Value, RpcError> {
        Ok(Value::Null)
    }

    fn fails(&self, arguments: Everything) -> Result<Value, RpcError> {
        Err(RpcError::new(arguments.text))
    }
}

static SERVICE: LazyLock<(Service, Runtime)> = LazyLock::new(|| {
    let table = MethodTable::new("xvm")
        .alias("avm")
        .on("everything", Echo::everything)
        .on("nothing", Echo::nothing)
        .on("fails", Echo::fails);
    let runtime = Builder::new_current_thread().build().expect("a runtime without threads");
    (table.bind(Arc::new(Echo)), runtime)
});

/// A request's body. Its answer is nothing or one JSON value and a newline.
pub(super) fn j2(bytes: &[u8]) {
    let (service, runtime) = &*SERVICE;
    let reply = runtime.block_on(j2::handle(service, "POST", Some("application/json"), bytes));
    assert_eq!(reply.status, 200);
    if !reply.body.is_empty() {
        serde_json::from_slice::<Value>(&reply.body).expect("an answer is JSON");
        assert_eq!(reply.body.last(), Some(&b'\n'));
    }
}
