//! The methods that begin and end subscriptions, which no table has.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::endpoint::servers;
use super::{EndpointInfo, Schemas};
use crate::args::{FromParams, Positional};
use crate::positional::RpcId;

/// The subscriptions of a namespace.
#[derive(Debug)]
pub struct SubscriptionMethods {
    /// The canonical namespace.
    pub namespace: &'static str,
    /// Other names of the namespace.
    pub namespace_aliases: &'static [&'static str],
    /// Names of the arguments that follow the kind, whatever it is.
    pub arguments: &'static [&'static str],
    /// The kinds of subscriptions.
    pub kinds: Vec<SubscriptionKind>,
}

/// A kind of subscription.
#[derive(Debug)]
pub struct SubscriptionKind {
    name: &'static str,
    arguments: fn(&mut Schemas) -> Vec<Positional>,
    notification: fn(&mut Schemas) -> Value,
}

impl SubscriptionKind {
    /// A kind by its name. `P` has all arguments, the kind's name first; `N` is the result in a notification.
    #[must_use]
    pub fn new<P: FromParams, N: JsonSchema>(name: &'static str) -> Self {
        Self { name, arguments: P::describe, notification: Schemas::result::<N> }
    }
}

impl SubscriptionMethods {
    /// Both methods, as OpenRPC has them.
    pub(super) fn describe(&self, schemas: &mut Schemas, info: &EndpointInfo) -> [Value; 2] {
        let method = |name: &str, params: Vec<Value>, result: Value| {
            let of = |namespace: &&str| format!("{namespace}_{name}");
            json!({
                "name": of(&self.namespace),
                "x-aliases": self.namespace_aliases.iter().map(of).collect::<Vec<_>>(),
                "description": "Over websockets only.",
                "servers": servers(&info.socket_paths),
                "paramStructure": "by-position",
                "params": params,
                "result": { "name": "result", "schema": result },
            })
        };
        let id = schemas.argument::<RpcId>();
        let mut subscribe =
            method("subscribe", self.parameters(schemas), schemas.result::<RpcId>());
        let notifications = self.kinds.iter().map(|kind| (kind.name, (kind.notification)(schemas)));
        subscribe["x-notifications"] = notifications.collect();
        let id = json!({ "name": "id", "required": true, "schema": id });
        [subscribe, method("unsubscribe", vec![id], json!({ "type": "boolean" }))]
    }

    fn parameters(&self, schemas: &mut Schemas) -> Vec<Value> {
        let names: Vec<_> = self.kinds.iter().map(|kind| kind.name).collect();
        let kind = json!({ "title": "kind of subscription", "type": "string", "enum": names });
        let mut parameters = vec![json!({ "name": "kind", "required": true, "schema": kind })];
        let of_kinds: Vec<_> = self.kinds.iter().map(|kind| (kind.arguments)(schemas)).collect();
        for (at, name) in self.arguments.iter().enumerate() {
            // The kind itself is the first.
            let here: Vec<_> = of_kinds.iter().map(|arguments| arguments.get(at + 1)).collect();
            let required = here.iter().all(|argument| argument.is_some_and(|a| a.is_required));
            let mut forms: Vec<&Value> = Vec::new();
            for Positional { schema, .. } in here.into_iter().flatten() {
                if !forms.contains(&schema) {
                    forms.push(schema);
                }
            }
            let schema = match &*forms {
                [one] => (*one).clone(),
                several => json!({ "anyOf": several }),
            };
            parameters.push(json!({ "name": name, "required": required, "schema": schema }));
        }
        parameters
    }
}
