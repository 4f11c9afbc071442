//! `rpc.discover`: an OpenRPC document of an endpoint, made of its method tables.
//!
//! Types of arguments and results describe themselves ([`schemars::JsonSchema`]); what writes its JSON by hand has a
//! schema beside it ([`crate::schema!`]). A table names the arguments that are taken by position
//! ([`crate::MethodTable::params`]). The document is made once, when the endpoint is.

mod document;
mod endpoint;
mod schemas;
mod signature;
mod subscriptions;

use crate::table::handler::quick;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::endpoint::EndpointInfo;
pub use self::schemas::Schemas;
pub(crate) use self::signature::{Arguments, Signature};
pub use self::subscriptions::{SubscriptionKind, SubscriptionMethods};
use crate::params::NoArgs;
use crate::service::Service;
use crate::table::MethodTable;

/// The namespace of methods about methods.
pub(crate) const NAMESPACE: &str = "rpc";

/// The schema of every OpenRPC document.
const META_SCHEMA: &str =
    "https://raw.githubusercontent.com/open-rpc/meta-schema/master/schema.json";

/// An OpenRPC document as text.
#[derive(Clone, Debug, Default)]
struct Document(Arc<OnceLock<Box<RawValue>>>);

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.get().serialize(serializer)
    }
}

impl JsonSchema for Document {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("OpenrpcDocument")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "$ref": META_SCHEMA })
    }
}

impl Service {
    /// The same with `rpc.discover`, for the object dialect.
    ///
    /// # Panics
    ///
    /// If it has the method already.
    #[must_use]
    pub fn with_discovery(self, info: &EndpointInfo) -> Self {
        let add = |table: MethodTable<Document>| {
            table.on("discover", quick(|document: &Document, _: NoArgs| Ok(document.clone())))
        };
        self.discoverable(add, info, &[])
    }

    /// The same with `rpc.discover`, for the positional dialect.
    pub(crate) fn with_positional_discovery(
        self,
        info: &EndpointInfo,
        subscriptions: &[SubscriptionMethods],
    ) -> Self {
        let add = |table: MethodTable<Document>| {
            table.on_list("discover", quick(|document: &Document, ()| Ok(document.clone())))
        };
        self.discoverable(add, info, subscriptions)
    }

    fn discoverable(
        self,
        add: impl FnOnce(MethodTable<Document>) -> MethodTable<Document>,
        info: &EndpointInfo,
        subscriptions: &[SubscriptionMethods],
    ) -> Self {
        // An endpoint that has nothing for pages of other origins gives them no description either.
        let table = MethodTable::new(NAMESPACE);
        let table = match self.is_for_trusted_callers() {
            true => table.trusted_callers_only(add),
            false => add(table),
        };
        let text = Document::default();
        let service = self.merge(&table.bind(Arc::new(text.clone())));
        let document = document::build(&service, info, subscriptions);
        let document = serde_json::value::to_raw_value(&document).expect("a value is valid JSON");
        // Made here for the first time.
        let _ = text.0.set(document);
        service
    }
}
