//! Operations of the feature extensions: minting, NFT transfers, burning.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};

use crate::fx::{FxError, FxKind};
use crate::input::{decode_indices, encode_indices, verify_indices};
use crate::output::{NftTransferOutput, Output, TransferOutput, verify_payload};
use crate::owners::OutputOwners;
use crate::type_id::{self, interface};

/// Mints an amount of an asset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SecpMintOperation {
    /// Signers, as positions among the consumed mint output's addresses.
    pub mint_input: Vec<u32>,
    /// Owners of the mint output that replaces the consumed one; must equal its owners.
    pub mint_output: OutputOwners,
    /// The output that is minted.
    pub transfer_output: TransferOutput,
}

/// Mints NFTs. The consumed mint output is not re-created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NftMintOperation {
    /// Signers, as positions among the consumed mint output's addresses.
    pub mint_input: Vec<u32>,
    /// Must equal the consumed output's group.
    pub group_id: u32,
    /// Payload of each minted NFT.
    pub payload: Vec<u8>,
    /// Owners of each minted NFT.
    pub outputs: Vec<OutputOwners>,
}

/// Transfers an NFT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NftTransferOperation {
    /// Signers, as positions among the consumed NFT's addresses.
    pub input: Vec<u32>,
    /// The NFT with its new owners; group and payload must equal the consumed NFT's.
    pub output: NftTransferOutput,
}

/// Mints a property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PropertyMintOperation {
    /// Signers, as positions among the consumed mint output's addresses.
    pub mint_input: Vec<u32>,
    /// Owners of the mint output that replaces the consumed one; must equal its owners.
    pub mint_output: OutputOwners,
    /// Owners of the minted property.
    pub owned_output: OutputOwners,
}

/// An operation of one of the feature extensions (the reference's `fxs.FxOperation`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FxOperation {
    /// Mints an amount.
    SecpMint(SecpMintOperation),
    /// Mints NFTs.
    NftMint(NftMintOperation),
    /// Transfers an NFT.
    NftTransfer(NftTransferOperation),
    /// Mints a property.
    PropertyMint(PropertyMintOperation),
    /// Burns a property; the signers, as positions among its addresses.
    PropertyBurn(Vec<u32>),
}

impl FxOperation {
    /// Type ID in the codec.
    pub const fn type_id(&self) -> u32 {
        match self {
            Self::SecpMint(_) => type_id::SECP_MINT_OPERATION,
            Self::NftMint(_) => type_id::NFT_MINT_OPERATION,
            Self::NftTransfer(_) => type_id::NFT_TRANSFER_OPERATION,
            Self::PropertyMint(_) => type_id::PROPERTY_MINT_OPERATION,
            Self::PropertyBurn(_) => type_id::PROPERTY_BURN_OPERATION,
        }
    }

    /// The feature extension that this kind of operation belongs to.
    pub const fn fx(&self) -> FxKind {
        match self {
            Self::SecpMint(_) => FxKind::Secp256k1,
            Self::NftMint(_) | Self::NftTransfer(_) => FxKind::Nft,
            Self::PropertyMint(_) | Self::PropertyBurn(_) => FxKind::Property,
        }
    }

    /// Rules that an operation must meet by itself, in the reference's order.
    pub fn verify(&self) -> Result<(), FxError> {
        match self {
            Self::SecpMint(op) => {
                verify_indices(&op.mint_input)?;
                op.mint_output.verify()?;
                op.transfer_output.verify()
            }
            Self::NftMint(op) => {
                verify_payload(&op.payload)?;
                op.outputs.iter().try_for_each(OutputOwners::verify)?;
                verify_indices(&op.mint_input)
            }
            Self::NftTransfer(op) => {
                verify_indices(&op.input)?;
                op.output.verify()
            }
            Self::PropertyMint(op) => {
                verify_indices(&op.mint_input)?;
                op.mint_output.verify()?;
                op.owned_output.verify()
            }
            Self::PropertyBurn(input) => verify_indices(input),
        }
    }

    /// The outputs that the operation produces, in the order of their indices.
    pub fn outputs(&self) -> Vec<Output> {
        match self {
            Self::SecpMint(op) => vec![
                Output::SecpMint(op.mint_output.clone()),
                Output::SecpTransfer(op.transfer_output.clone()),
            ],
            Self::NftMint(op) => {
                let nft = |owners: &OutputOwners| {
                    Output::NftTransfer(NftTransferOutput {
                        group_id: op.group_id,
                        payload: op.payload.clone(),
                        owners: owners.clone(),
                    })
                };
                op.outputs.iter().map(nft).collect()
            }
            Self::NftTransfer(op) => vec![Output::NftTransfer(op.output.clone())],
            Self::PropertyMint(op) => vec![
                Output::PropertyMint(op.mint_output.clone()),
                Output::PropertyOwned(op.owned_output.clone()),
            ],
            Self::PropertyBurn(_) => Vec::new(),
        }
    }
}

/// Type ID, then the operation; nothing nested carries a type ID.
impl Encode for FxOperation {
    fn encode(&self, w: &mut Writer) {
        w.type_id(self.type_id());
        match self {
            Self::SecpMint(op) => {
                encode_indices(&op.mint_input, w);
                op.mint_output.encode(w);
                op.transfer_output.encode(w);
            }
            Self::NftMint(op) => {
                encode_indices(&op.mint_input, w);
                w.u32(op.group_id);
                w.bytes(&op.payload);
                w.values(&op.outputs);
            }
            Self::NftTransfer(op) => {
                encode_indices(&op.input, w);
                op.output.encode(w);
            }
            Self::PropertyMint(op) => {
                encode_indices(&op.mint_input, w);
                op.mint_output.encode(w);
                op.owned_output.encode(w);
            }
            Self::PropertyBurn(input) => encode_indices(input, w),
        }
    }
}

impl Decode for FxOperation {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let type_id = r.type_id()?;
        Self::decode_body(type_id, r)?
            .ok_or_else(|| type_id::wrong_type_id(type_id, interface::FX_OPERATION))
    }
}

impl FxOperation {
    /// The operation of that type ID; none if the ID is no operation's.
    pub(crate) fn decode_body(
        type_id: u32,
        r: &mut Reader<'_>,
    ) -> Result<Option<Self>, CodecError> {
        Ok(Some(match type_id {
            type_id::SECP_MINT_OPERATION => Self::SecpMint(SecpMintOperation {
                mint_input: decode_indices(r)?,
                mint_output: OutputOwners::decode(r)?,
                transfer_output: TransferOutput::decode(r)?,
            }),
            type_id::NFT_MINT_OPERATION => Self::NftMint(NftMintOperation {
                mint_input: decode_indices(r)?,
                group_id: r.u32()?,
                payload: r.bytes()?.to_vec(),
                outputs: r.values()?,
            }),
            type_id::NFT_TRANSFER_OPERATION => Self::NftTransfer(NftTransferOperation {
                input: decode_indices(r)?,
                output: NftTransferOutput::decode(r)?,
            }),
            type_id::PROPERTY_MINT_OPERATION => Self::PropertyMint(PropertyMintOperation {
                mint_input: decode_indices(r)?,
                mint_output: OutputOwners::decode(r)?,
                owned_output: OutputOwners::decode(r)?,
            }),
            type_id::PROPERTY_BURN_OPERATION => Self::PropertyBurn(decode_indices(r)?),
            _ => return Ok(None),
        }))
    }
}
