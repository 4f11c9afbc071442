//! Documents of method tables.

use std::sync::Arc;

use esker_rpc::discover::EndpointInfo;
use esker_rpc::handler::quick;
use esker_rpc::positional::{Limits, Server};
use esker_rpc::wire::{CappedLimit, JsonU64};
use esker_rpc::{Caller, MethodTable, RpcError, Service};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::toy::answer;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct Page {
    start_index: JsonU64,
    limit: CappedLimit,
    #[serde(rename = "assetID")]
    asset_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    count: JsonU64,
    next: Option<Box<Self>>,
}

fn table() -> MethodTable<()> {
    MethodTable::new("toy")
        .alias("game")
        .on(
            "find",
            quick(|(): &(), page: Page| {
                let Page { start_index, limit, asset_id } = page;
                let count = limit.at_most(asset_id.map_or(1, |id| id.len())) as u64;
                Ok(Found { count: JsonU64(start_index.0 + count), next: None })
            }),
        )
        .deprecated("v1.2.3")
        .also_named("search")
}

fn info() -> EndpointInfo {
    EndpointInfo {
        title: "toys".to_owned(),
        version: "1.0.0",
        paths: vec!["/toys".to_owned()],
        socket_paths: vec!["/toys/ws".to_owned()],
    }
}

fn object(service: Service) -> Value {
    let answer = answer(&service, r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#);
    serde_json::from_str::<Value>(&answer).unwrap()["result"].take()
}

#[test]
fn a_method_by_name() {
    let document = object(table().bind(Arc::new(())).with_discovery(&info()));
    assert_eq!(document["openrpc"], "1.3.2");
    assert_eq!(document["info"], json!({ "title": "toys", "version": "1.0.0" }));
    let number = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    assert_eq!(
        document["methods"][0],
        json!({
            "name": "toy.find",
            "x-aliases": ["toy.search", "game.find", "game.search"],
            "paramStructure": "by-name",
            "params": [
                {
                    "name": "assetID",
                    "required": false,
                    "schema": { "type": ["string", "null"], "default": null },
                },
                {
                    "name": "limit",
                    "required": false,
                    "schema": { "allOf": [number("Limit")], "default": "0" },
                },
                {
                    "name": "startIndex",
                    "required": false,
                    "schema": { "allOf": [number("Uint64Argument")], "default": "0" },
                },
            ],
            "result": { "name": "result", "schema": number("Found") },
            "deprecated": true,
            "x-deprecated-since": "v1.2.3",
        })
    );
    assert_eq!(document["methods"][1]["name"], "rpc.discover");
    assert_eq!(document["methods"].as_array().unwrap().len(), 2);
}

/// A number that is read in more forms than it is written in is two schemas.
#[test]
fn arguments_and_results_of_one_type() {
    let document = object(table().bind(Arc::new(())).with_discovery(&info()));
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Uint64"]["type"], "string");
    assert_eq!(schemas["Uint64Argument"]["anyOf"].as_array().unwrap().len(), 2);
    assert_eq!(schemas["Found"]["properties"]["count"]["$ref"], "#/components/schemas/Uint64");
    assert_eq!(schemas["Found"]["required"], json!(["count", "next"]));
}

#[test]
fn a_method_by_position() {
    let service = MethodTable::new("toy")
        .on_list("throw", quick(|(): &(), _: (String, Option<u64>)| Ok(true)))
        .params(&["what", "times"])
        .bind(Arc::new(()));
    let server = Server::new(service, Limits::default()).with_discovery(&info());
    let call = |method: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string();
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let answer = runtime.block_on(server.answer(body.as_bytes(), None, &Caller::default()));
        serde_json::from_slice::<Value>(&answer.into_bytes()).unwrap()
    };
    let document = call("rpc.discover")["result"].take();
    assert_eq!(call("rpc_discover")["result"], document);
    assert_eq!(call("rpc.modules")["error"]["code"], -32601, "only the one name has a dot");
    let names: Vec<_> =
        document["methods"].as_array().unwrap().iter().map(|method| &method["name"]).collect();
    assert_eq!(names, ["toy_throw", "rpc_modules", "rpc.discover"]);
    let throw = &document["methods"][0];
    assert_eq!(throw["paramStructure"], "by-position");
    assert_eq!(throw["params"][0]["name"], "what");
    assert_eq!(throw["params"][0]["required"], true);
    assert_eq!(throw["params"][1]["name"], "times");
    assert_eq!(throw["params"][1]["required"], false);
    assert_eq!(throw["result"]["schema"], json!({ "type": "boolean" }));
}

#[test]
fn where_nothing_is_for_other_origins_neither_is_the_document() {
    let guarded = MethodTable::new("safe")
        .trusted_callers_only(|table| table.on("open", quick(open)))
        .bind(Arc::new(()));
    assert!(guarded.with_discovery(&info()).is_for_trusted_callers());
    assert!(!table().bind(Arc::new(())).with_discovery(&info()).is_for_trusted_callers());
}

fn open((): &(), _: esker_rpc::NoArgs) -> Result<(), RpcError> {
    Ok(())
}

#[test]
#[should_panic(expected = "toy_throw names 1 of 2 arguments")]
fn arguments_by_position_have_names() {
    let table =
        MethodTable::new("toy").on_list("throw", quick(|(): &(), _: (String, u64)| Ok(true)));
    drop(table.params(&["what"]).bind(Arc::new(())));
}

#[test]
#[should_panic(expected = "find takes its arguments by name")]
fn arguments_by_name_have_their_own() {
    drop(table().params(&["limit"]));
}
