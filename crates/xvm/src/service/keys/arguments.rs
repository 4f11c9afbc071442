//! Arguments that several of the methods have.

use esker_chain::address::ServiceAddressError;
use esker_keystore::Credentials;
use esker_primitives::ClientAddress;
use esker_primitives::{ShortId, TxId};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Reply, parse_address};
use super::KeysError;
use crate::chain::Xvm;

/// The arguments of every method that spends.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) credentials: Credentials,
    /// The caller.
    pub(super) client: ClientAddress,
    /// Whose keys are used; empty: all of the user's.
    pub(super) from: Vec<String>,
    /// Empty: the address of the first key.
    pub(super) change_addr: String,
}

/// Defines the arguments of a method that spends: the members of [`Header`], then its own. (`serde(flatten)` would
/// compare the members' names case-sensitively.)
macro_rules! spending_arguments {
    ($(#[$doc:meta])* struct $name:ident { $($(#[$rename:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, rename_all = "camelCase")]
        pub(in super::super) struct $name {
            username: String,
            password: esker_keystore::Password,
            from: Vec<String>,
            change_addr: String,
            $($(#[$rename])* $field: $type,)*
        }

        impl $name {
            fn header(
                &mut self,
                client: esker_primitives::ClientAddress,
            ) -> $crate::service::keys::arguments::Header {
                $crate::service::keys::arguments::Header {
                    credentials: esker_keystore::Credentials {
                        username: std::mem::take(&mut self.username),
                        password: std::mem::take(&mut self.password),
                    },
                    client,
                    from: std::mem::take(&mut self.from),
                    change_addr: std::mem::take(&mut self.change_addr),
                }
            }
        }
    };
}
pub(super) use spending_arguments;

impl Header {
    /// The addresses of `from`.
    pub(super) fn parse_from(&self, vm: &Xvm) -> Result<Vec<ShortId>, ServiceAddressError> {
        self.from.iter().map(|text| parse_address(vm, text)).collect()
    }
}

/// The address that an amount goes to.
pub(super) fn parse_to(vm: &Xvm, text: &str) -> Reply<ShortId> {
    parse_address(vm, text)
        .map_err(|cause| KeysError::ToAddress { text: text.to_owned(), cause }.into())
}

/// A transaction, and where its change went.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ChangeReply {
    #[serde(rename = "txID")]
    pub(super) tx_id: TxId,
    pub(super) change_addr: String,
}
