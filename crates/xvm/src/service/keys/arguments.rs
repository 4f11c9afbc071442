//! Arguments that several of the methods have.

use esker_chain::address::ServiceAddressError;
use esker_keystore::Password;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{ShortId, TxId};
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::super::{Reply, parse_address};
use super::KeysError;
use crate::vm::Xvm;

/// A user alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Credentials {
    pub(super) username: String,
    pub(super) password: Password,
}

/// What every method that spends is told.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) credentials: Credentials,
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
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(in super::super) struct $name {
            username: String,
            password: esker_keystore::Password,
            from: Vec<String>,
            change_addr: String,
            $($(#[$rename])* $field: $type,)*
        }

        impl $name {
            fn header(&mut self) -> $crate::service::keys::arguments::Header {
                $crate::service::keys::arguments::Header {
                    credentials: $crate::service::keys::arguments::Credentials {
                        username: std::mem::take(&mut self.username),
                        password: std::mem::take(&mut self.password),
                    },
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

/// A private key as an argument.
#[derive(Debug)]
pub(super) struct KeyArgument(pub(super) PrivateKey);

impl<'de> Deserialize<'de> for KeyArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyText;

        impl Visitor<'_> for KeyText {
            type Value = KeyArgument;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a private key")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<KeyArgument, E> {
                text.parse().map(KeyArgument).map_err(E::custom)
            }

            fn visit_string<E: Error>(self, text: String) -> Result<KeyArgument, E> {
                self.visit_str(&Zeroizing::new(text))
            }
        }

        deserializer.deserialize_str(KeyText)
    }
}

/// A private key in a reply.
pub(super) struct KeyText(Zeroizing<String>);

impl KeyText {
    pub(super) fn new(key: &PrivateKey) -> Self {
        Self(Zeroizing::new(key.to_text()))
    }
}

impl std::fmt::Debug for KeyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyText(..)")
    }
}

impl Serialize for KeyText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A transaction, and where its change went.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ChangeReply {
    #[serde(rename = "txID")]
    pub(super) tx_id: TxId,
    pub(super) change_addr: String,
}
