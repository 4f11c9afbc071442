//! The OpenRPC document.

use serde_json::{Map, Value, json};

use super::endpoint::servers;
use super::signature::Parameter;
use super::{Arguments, EndpointInfo, NAMESPACE, Schemas, SubscriptionMethods};
use crate::method::Method;
use crate::method_info::{DISCOVER, MethodInfo};
use crate::service::Service;

/// The version of OpenRPC.
const OPENRPC: &str = "1.3.2";

/// The document of an endpoint.
pub(super) fn build(
    service: &Service,
    info: &EndpointInfo,
    subscriptions: &[SubscriptionMethods],
) -> Value {
    let mut schemas = Schemas::new();
    let mut methods: Vec<_> = service.all().map(|method| described(method, &mut schemas)).collect();
    for namespace in subscriptions {
        methods.extend(namespace.describe(&mut schemas, info));
    }
    let all_paths: Vec<_> = info.paths.iter().chain(&info.socket_paths).cloned().collect();
    let (schemas, renamed) = schemas.finish();
    for method in &mut methods {
        method.get_mut("params").into_iter().for_each(|params| renamed.apply(params));
    }
    json!({
        "openrpc": OPENRPC,
        "info": { "title": info.title, "version": info.version },
        "servers": servers(&all_paths),
        "methods": methods,
        "components": { "schemas": schemas },
    })
}

fn described(method: &Method, schemas: &mut Schemas) -> Value {
    let (info, signature) = (method.info(), method.signature());
    let parameters = signature.parameters(schemas);
    let mut shown = Map::new();
    let names = names(info, signature.arguments);
    let (name, others) = names.split_first().map_or(("", &[][..]), |(name, others)| (name, others));
    shown.insert("name".to_owned(), json!(name));
    if !others.is_empty() {
        shown.insert("x-aliases".to_owned(), json!(others));
    }
    shown.insert("paramStructure".to_owned(), json!(signature.arguments.structure()));
    shown.insert("params".to_owned(), parameters.into_iter().map(Parameter::describe).collect());
    let result = (signature.result)(schemas);
    shown.insert("result".to_owned(), json!({ "name": "result", "schema": result }));
    if let Some(since) = info.deprecated_since {
        shown.insert("deprecated".to_owned(), json!(true));
        shown.insert("x-deprecated-since".to_owned(), json!(since));
    }
    Value::Object(shown)
}

impl Parameter {
    pub(super) fn describe(self) -> Value {
        json!({ "name": self.name, "required": self.is_required, "schema": self.schema })
    }
}

/// Every name that clients may call, the canonical one first.
fn names(info: &MethodInfo, arguments: Arguments) -> Vec<String> {
    let separator = match arguments {
        Arguments::Named(_) => '.',
        Arguments::Listed { .. } => '_',
    };
    let mut names = Vec::new();
    for namespace in [info.namespace].iter().chain(info.namespace_aliases.iter()) {
        for name in [info.name].iter().chain(&info.aliases) {
            names.push(format!("{namespace}{separator}{name}"));
        }
    }
    if info.namespace == NAMESPACE
        && info.name == "discover"
        && names.first().is_some_and(|name| name != DISCOVER)
    {
        names.insert(0, DISCOVER.to_owned());
    }
    names
}
