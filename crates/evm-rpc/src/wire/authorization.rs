//! Authorizations of accounts to run a contract's code (EIP-7702).

use std::borrow::Cow;

use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Addr, Big, Uint64};

/// An authorization, as argument and as reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Authorization", title = "authorization")]
pub struct AuthorizationMembers {
    /// The chain that it is for; 0: every chain.
    pub chain_id: Big,
    /// The contract; the zero address ends the delegation.
    pub address: Addr,
    /// The account's nonce.
    pub nonce: Uint64,
    /// The signature's parity.
    pub y_parity: Uint64,
    /// The signature's r.
    pub r: Big,
    /// The signature's s.
    pub s: Big,
}

impl From<&SignedAuthorization> for AuthorizationMembers {
    fn from(signed: &SignedAuthorization) -> Self {
        let Authorization { chain_id, address, nonce } = *signed.inner();
        Self {
            chain_id: Big(chain_id),
            address: Addr(address),
            nonce: Uint64(nonce),
            y_parity: Uint64(signed.y_parity().into()),
            r: Big(signed.r()),
            s: Big(signed.s()),
        }
    }
}

impl From<&AuthorizationMembers> for SignedAuthorization {
    fn from(members: &AuthorizationMembers) -> Self {
        let authorization = Authorization {
            chain_id: members.chain_id.0,
            address: members.address.0,
            nonce: members.nonce.0,
        };
        // A parity that no byte holds is as wrong as the highest byte.
        let parity = u8::try_from(members.y_parity.0).unwrap_or(u8::MAX);
        Self::new_unchecked(authorization, parity, members.r.0, members.s.0)
    }
}

impl Argument for AuthorizationMembers {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.SetCodeAuthorization")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut chain_id, mut address, mut nonce) = (None, None, None);
        let (mut y_parity, mut r, mut s) = (None, None, None);
        decode_struct(
            value,
            "types.SetCodeAuthorization",
            &mut [
                ("chainId", &mut chain_id),
                ("address", &mut address),
                ("nonce", &mut nonce),
                ("yParity", &mut y_parity),
                ("r", &mut r),
                ("s", &mut s),
            ],
        )
        .map_err(ArgumentError::of_own_decoder)?;
        Ok(Self {
            chain_id: required(chain_id, "chainId")?,
            address: required(address, "address")?,
            nonce: required(nonce, "nonce")?,
            y_parity: required(y_parity, "yParity")?,
            r: required(r, "r")?,
            s: required(s, "s")?,
        })
    }
}

fn required<T>(member: Option<T>, name: &str) -> Result<T, ArgumentError> {
    let text = || format!("missing required field '{name}' for SetCodeAuthorization");
    member.ok_or_else(|| ArgumentError::text(text()))
}
