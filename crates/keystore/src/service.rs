//! The `keystore` namespace (docs/protocol/keystore.md, "Keystore").

use std::sync::Arc;

use esker_primitives::ClientAddress;
use esker_primitives::Password;
use esker_rpc::handler::{quick, waits_with_address};
use esker_rpc::wire::Encoding;
use esker_rpc::{MethodTable, NoArgs, RpcError, cost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::Credentials;
use crate::store::Keystore;

/// The release of the reference that deprecated the API; the specification names it for all methods but createUser.
const DEPRECATED_SINCE: &str = "v1.9.12";

/// Answers the `keystore` methods.
#[derive(Debug)]
pub struct KeystoreService {
    keystore: Arc<Keystore>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ExportArgs {
    username: String,
    password: Password,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ImportArgs {
    username: String,
    password: Password,
    user: String,
    encoding: Encoding,
}

/// A reply without members.
#[derive(Debug, Serialize, JsonSchema)]
struct Empty {}

#[derive(Debug, Serialize, JsonSchema)]
struct ListUsersReply {
    users: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExportUserReply {
    user: String,
    encoding: Encoding,
}

/// The methods, in the order of the specification.
pub fn methods() -> MethodTable<KeystoreService> {
    let table = MethodTable::new("keystore").trusted_callers_only(|table| {
        table
            .on("createUser", waits_with_address(KeystoreService::create_user))
            .cost(cost::HEAVY)
            .on("deleteUser", waits_with_address(KeystoreService::delete_user))
            .cost(cost::HEAVY)
            .on("exportUser", waits_with_address(KeystoreService::export_user))
            .cost(cost::HEAVY)
            .on("importUser", waits_with_address(KeystoreService::import_user))
            .cost(cost::HEAVY)
            .on("listUsers", quick(KeystoreService::list_users))
    });
    table.deprecate_all(DEPRECATED_SINCE).instead("xvm.issueTx")
}

impl KeystoreService {
    /// Answers for this keystore.
    pub fn new(keystore: Arc<Keystore>) -> Arc<Self> {
        Arc::new(Self { keystore })
    }

    /// A new user (docs/decisions.md, "Password strength").
    async fn create_user(
        self: Arc<Self>,
        args: Credentials,
        client: ClientAddress,
    ) -> Result<Empty, RpcError> {
        self.keystore.create_user(&args.username, &args.password, client).await?;
        Ok(Empty {})
    }

    /// Removes a user and its keys.
    async fn delete_user(
        self: Arc<Self>,
        args: Credentials,
        client: ClientAddress,
    ) -> Result<Empty, RpcError> {
        self.keystore.delete_user(&args.username, &args.password, client).await?;
        Ok(Empty {})
    }

    /// Exports a user as text; its keys stay encrypted with the password.
    async fn export_user(
        self: Arc<Self>,
        args: ExportArgs,
        client: ClientAddress,
    ) -> Result<ExportUserReply, RpcError> {
        let bytes = self.keystore.export_user(&args.username, &args.password, client).await?;
        let user = args
            .encoding
            .encode(&bytes)
            .map_err(|error| RpcError::new(format!("couldn't encode user to string: {error}")))?;
        Ok(ExportUserReply { user, encoding: args.encoding })
    }

    /// Imports an exported user under a name of the caller's choice.
    async fn import_user(
        self: Arc<Self>,
        args: ImportArgs,
        client: ClientAddress,
    ) -> Result<Empty, RpcError> {
        let bytes = args
            .encoding
            .decode(&args.user)
            .map_err(|error| RpcError::new(format!("couldn't decode 'user' to bytes: {error}")))?;
        self.keystore.import_user(&args.username, &args.password, &bytes, client).await?;
        Ok(Empty {})
    }

    /// All names, ascending.
    fn list_users(&self, _: NoArgs) -> Result<ListUsersReply, RpcError> {
        Ok(ListUsersReply { users: self.keystore.list_users()? })
    }
}
