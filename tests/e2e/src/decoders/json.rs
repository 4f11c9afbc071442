//! JSON as Go reads it, and requests of the object dialect.

use std::sync::{Arc, LazyLock};

use esker_go_json::{Document, GoValue, Name};
use esker_primitives::Id;
use esker_rpc::handler::quick;
use esker_rpc::wire::{CappedLimit, Encoding, JsonU8, JsonU32, JsonU64};
use esker_rpc::{Caller, MethodTable, NoArgs, RpcError, Service, object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::primitives::value_of;

/// The first value of the bytes: its parts, its compact form, and its decoded values.
pub(super) fn json(bytes: &[u8]) -> bool {
    value_of(GoValue::first(bytes));
    let read = Document::first_with_members(bytes, |name, value| {
        assert!(name.is(&name.text()) || !name.text().is_ascii());
        assert_eq!(Document::whole(value.as_bytes()), Ok(value));
    });
    let Some(document) = value_of(read) else { return false };
    assert_eq!(Document::first(bytes), Ok(document));
    for element in document.elements() {
        assert_eq!(Document::whole(element.as_bytes()), Ok(element));
    }
    let compact = compact(document);
    let again = Document::whole(&compact).expect("the compact form is one value");
    assert_eq!(self::compact(again), compact);
    value_of(document.decode::<Everything>());
    if let Some(value) = value_of(document.decode::<Value>()) {
        let text = value_of(esker_go_json::to_go_vec(&value)).expect("a value can be written");
        // These are not compared: a float may lose its last bit on the way.
        value_of(esker_go_json::decode::<Value>(&text)).expect("what was written can be read");
    }
    true
}

fn compact(document: Document<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    document.write_compact(&mut out);
    out
}

/// One argument of every kind that methods take.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
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
    inner: Option<Box<Self>>,
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
        .on("everything", quick(Echo::everything))
        .on("nothing", quick(Echo::nothing))
        .on("fails", quick(Echo::fails));
    let runtime = Builder::new_current_thread().build().expect("a runtime without threads");
    (table.bind(Arc::new(Echo)), runtime)
});

/// A request's body. Its answer is nothing or one JSON value and a newline.
pub(super) fn object_dialect(bytes: &[u8]) -> bool {
    let (service, runtime) = &*SERVICE;
    let reply = runtime.block_on(object::handle(
        service,
        "POST",
        Some("application/json"),
        bytes,
        &Caller::default(),
    ));
    assert_eq!(reply.status, 200);
    if reply.body.is_empty() {
        return false;
    }
    assert_eq!(reply.body.last(), Some(&b'\n'));
    Document::whole(&reply.body).expect("an answer is one value");
    let mut has_result = false;
    let members = |name: Name<'_>, _: Document<'_>| has_result |= name.is("result");
    Document::first_with_members(&reply.body, members).expect("an answer is one value");
    has_result
}
