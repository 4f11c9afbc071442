//! Values of code that clients set: the chain ID, and signers of signatures. Each is in the state
//! (docs/protocol/c-chain-blocks.md, "Control values"), so setting one makes a block.

use std::borrow::Cow;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm::control::ChangeRequest;
use esker_evm_execution::executor::{
    CHAIN_ID_KEY, CONTROL_VALUES, EVM_CHAIN_IDS, SIGNATURE_LEN, signer_key, stored_chain_id,
    stored_signer,
};
use esker_go_json::args::{Argument, ArgumentError};
use esker_go_json::{Document, Kind};
use esker_rpc::{CallNotes, RpcError};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::wire::{Addr, Data};

async fn set(
    node: &DevelopmentNode,
    key: U256,
    value: U256,
    notes: &CallNotes,
) -> Result<(), RpcError> {
    // With a nonce the account is not empty, so it stays.
    let changes = vec![
        ChangeRequest::Nonce(CONTROL_VALUES, 1),
        ChangeRequest::Storage(CONTROL_VALUES, key, value),
    ];
    node.controls_to_write()?.change(changes).await.map_err(refused)?;
    node.note_blocks(notes);
    Ok(())
}

/// Sets the chain ID for all further blocks.
pub(super) async fn set_chain_id(
    node: Arc<DevelopmentNode>,
    (chain_id,): (Number,),
    notes: CallNotes,
) -> Result<(), RpcError> {
    let chain_id = chain_id.to_u64("chain ID")?;
    if !EVM_CHAIN_IDS.contains(&chain_id) {
        let (least, most) = (EVM_CHAIN_IDS.start(), EVM_CHAIN_IDS.end());
        return Err(refused(format!("chain ID {chain_id}: expected {least} to {most}")));
    }
    set(&node, CHAIN_ID_KEY, stored_chain_id(chain_id), &notes).await?;
    node.chain.drop_transactions_of_other_chains().map_err(refused)
}

/// A signature, or a list of it and an address, as anvil takes it.
#[derive(Clone, Debug)]
pub(super) struct SignatureArg {
    signature: [u8; SIGNATURE_LEN],
    signer: Option<Address>,
}

esker_rpc::schema!(SignatureArg, "SignatureArg", {
    "title": "signature, or list",
    "description": "A signature of 65 bytes: r, s, v. Or a list of it and the address, without a second parameter.",
    "anyOf": [
        { "type": "string", "pattern": "^0x[0-9a-fA-F]{130}$" },
        { "type": "array", "minItems": 2, "maxItems": 2 },
    ],
});

impl Argument for SignatureArg {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("signature")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() != Kind::Array {
            return Ok(Self { signature: signature(value)?, signer: None });
        }
        let mut parts = value.elements();
        let (Some(first), Some(second), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(ArgumentError::text("expected a signature and an address"));
        };
        Ok(Self { signature: signature(first)?, signer: Some(Addr::decode(second)?.0) })
    }
}

fn signature(value: Document<'_>) -> Result<[u8; SIGNATURE_LEN], ArgumentError> {
    let Data(bytes) = Data::decode(value)?;
    bytes.as_ref().try_into().map_err(|_| {
        let length = bytes.len();
        ArgumentError::text(format!("a signature has 65 bytes (r, s, v), not {length}"))
    })
}

/// Sets the address that the contract at address 1 recovers from a signature, whatever was signed.
pub(super) async fn impersonate_signature(
    node: Arc<DevelopmentNode>,
    (SignatureArg { signature, signer }, address): (SignatureArg, Option<Addr>),
    notes: CallNotes,
) -> Result<(), RpcError> {
    let signer = match (signer, address) {
        (Some(signer), None) | (None, Some(Addr(signer))) => signer,
        (None, None) => return Err(refused("missing address")),
        (Some(_), Some(_)) => return Err(refused("the address is given twice")),
    };
    set(&node, signer_key(&signature), stored_signer(signer), &notes).await
}
