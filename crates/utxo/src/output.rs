//! Outputs: what a UTXO holds.

use std::cmp::Ordering;

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::AssetId;

use crate::fx::{FxError, FxKind};
use crate::owners::OutputOwners;
use crate::type_id::{self, interface};

/// Greatest length of an NFT's payload, in bytes.
pub const MAX_NFT_PAYLOAD: usize = 1024;

/// An amount of an asset and its owners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransferOutput {
    /// In the asset's smallest unit; never 0 in a valid output.
    pub amount: u64,
    /// Who may spend it.
    pub owners: OutputOwners,
}

/// The right to mint NFTs of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NftMintOutput {
    /// Which of the asset's groups.
    pub group_id: u32,
    /// Who may mint.
    pub owners: OutputOwners,
}

/// An NFT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NftTransferOutput {
    /// The group it was minted in.
    pub group_id: u32,
    /// At most [`MAX_NFT_PAYLOAD`] bytes in a valid output.
    pub payload: Vec<u8>,
    /// Who may transfer it.
    pub owners: OutputOwners,
}

/// Anything that a UTXO can hold (the reference's `verify.State`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The right to mint more of an asset.
    SecpMint(OutputOwners),
    /// An amount of an asset.
    SecpTransfer(TransferOutput),
    /// The right to mint NFTs.
    NftMint(NftMintOutput),
    /// An NFT.
    NftTransfer(NftTransferOutput),
    /// The right to mint properties.
    PropertyMint(OutputOwners),
    /// A property: can be burned, not transferred.
    PropertyOwned(OutputOwners),
}

impl Output {
    /// Type ID in the codec.
    pub const fn type_id(&self) -> u32 {
        match self {
            Self::SecpMint(_) => type_id::SECP_MINT_OUTPUT,
            Self::SecpTransfer(_) => type_id::SECP_TRANSFER_OUTPUT,
            Self::NftMint(_) => type_id::NFT_MINT_OUTPUT,
            Self::NftTransfer(_) => type_id::NFT_TRANSFER_OUTPUT,
            Self::PropertyMint(_) => type_id::PROPERTY_MINT_OUTPUT,
            Self::PropertyOwned(_) => type_id::PROPERTY_OWNED_OUTPUT,
        }
    }

    /// The feature extension that this kind of output belongs to.
    pub const fn fx(&self) -> FxKind {
        match self {
            Self::SecpMint(_) | Self::SecpTransfer(_) => FxKind::Secp256k1,
            Self::NftMint(_) | Self::NftTransfer(_) => FxKind::Nft,
            Self::PropertyMint(_) | Self::PropertyOwned(_) => FxKind::Property,
        }
    }

    /// Owners; every kind of output has them.
    pub const fn owners(&self) -> &OutputOwners {
        match self {
            Self::SecpMint(owners) | Self::PropertyMint(owners) | Self::PropertyOwned(owners) => {
                owners
            }
            Self::SecpTransfer(output) => &output.owners,
            Self::NftMint(output) => &output.owners,
            Self::NftTransfer(output) => &output.owners,
        }
    }

    /// The fungible output, if it is one.
    pub const fn as_transfer(&self) -> Option<&TransferOutput> {
        match self {
            Self::SecpTransfer(output) => Some(output),
            Self::SecpMint(_)
            | Self::NftMint(_)
            | Self::NftTransfer(_)
            | Self::PropertyMint(_)
            | Self::PropertyOwned(_) => None,
        }
    }

    /// Rules that an output must meet by itself.
    pub fn verify(&self) -> Result<(), FxError> {
        match self {
            Self::SecpTransfer(output) => output.verify(),
            Self::NftTransfer(output) => output.verify(),
            Self::SecpMint(_)
            | Self::NftMint(_)
            | Self::PropertyMint(_)
            | Self::PropertyOwned(_) => self.owners().verify(),
        }
    }

    /// Order of the encoded forms, type ID first.
    pub fn cmp_encoded(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::SecpTransfer(a), Self::SecpTransfer(b)) => a.cmp_encoded(b),
            (Self::NftMint(a), Self::NftMint(b)) => {
                a.group_id.cmp(&b.group_id).then_with(|| a.owners.cmp_encoded(&b.owners))
            }
            (Self::NftTransfer(a), Self::NftTransfer(b)) => a.cmp_encoded(b),
            _ => self
                .type_id()
                .cmp(&other.type_id())
                .then_with(|| self.owners().cmp_encoded(other.owners())),
        }
    }
}

impl TransferOutput {
    /// Rules that an output must meet by itself.
    pub fn verify(&self) -> Result<(), FxError> {
        if self.amount == 0 { Err(FxError::OutputHasNoValue) } else { self.owners.verify() }
    }

    /// Order of the encoded forms.
    pub fn cmp_encoded(&self, other: &Self) -> Ordering {
        self.amount.cmp(&other.amount).then_with(|| self.owners.cmp_encoded(&other.owners))
    }
}

impl NftTransferOutput {
    /// Rules that an output must meet by itself.
    pub fn verify(&self) -> Result<(), FxError> {
        verify_payload(&self.payload)?;
        self.owners.verify()
    }

    fn cmp_encoded(&self, other: &Self) -> Ordering {
        self.group_id
            .cmp(&other.group_id)
            .then_with(|| self.payload.len().cmp(&other.payload.len()))
            .then_with(|| self.payload.cmp(&other.payload))
            .then_with(|| self.owners.cmp_encoded(&other.owners))
    }
}

/// The length rule of an NFT's payload.
pub(crate) const fn verify_payload(payload: &[u8]) -> Result<(), FxError> {
    if payload.len() > MAX_NFT_PAYLOAD { Err(FxError::PayloadTooLarge) } else { Ok(()) }
}

impl Encode for TransferOutput {
    fn encode(&self, w: &mut Writer) {
        w.u64(self.amount);
        self.owners.encode(w);
    }
}

impl Decode for TransferOutput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { amount: r.u64()?, owners: OutputOwners::decode(r)? })
    }
}

impl Encode for NftMintOutput {
    fn encode(&self, w: &mut Writer) {
        w.u32(self.group_id);
        self.owners.encode(w);
    }
}

impl Decode for NftMintOutput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { group_id: r.u32()?, owners: OutputOwners::decode(r)? })
    }
}

impl Encode for NftTransferOutput {
    fn encode(&self, w: &mut Writer) {
        w.u32(self.group_id);
        w.bytes(&self.payload);
        self.owners.encode(w);
    }
}

impl Decode for NftTransferOutput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            group_id: r.u32()?,
            payload: r.bytes()?.to_vec(),
            owners: OutputOwners::decode(r)?,
        })
    }
}

/// Type ID, then the output.
impl Encode for Output {
    fn encode(&self, w: &mut Writer) {
        w.type_id(self.type_id());
        match self {
            Self::SecpMint(owners) | Self::PropertyMint(owners) | Self::PropertyOwned(owners) => {
                owners.encode(w);
            }
            Self::SecpTransfer(output) => output.encode(w),
            Self::NftMint(output) => output.encode(w),
            Self::NftTransfer(output) => output.encode(w),
        }
    }
}

impl Decode for Output {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let type_id = r.type_id()?;
        Self::decode_body(type_id, r)?
            .ok_or_else(|| type_id::wrong_type_id(type_id, interface::STATE))
    }
}

impl Output {
    /// The output of that type ID; none if the ID is no output's.
    pub(crate) fn decode_body(
        type_id: u32,
        r: &mut Reader<'_>,
    ) -> Result<Option<Self>, CodecError> {
        Ok(Some(match type_id {
            type_id::SECP_MINT_OUTPUT => Self::SecpMint(OutputOwners::decode(r)?),
            type_id::SECP_TRANSFER_OUTPUT => Self::SecpTransfer(TransferOutput::decode(r)?),
            type_id::NFT_MINT_OUTPUT => Self::NftMint(NftMintOutput::decode(r)?),
            type_id::NFT_TRANSFER_OUTPUT => Self::NftTransfer(NftTransferOutput::decode(r)?),
            type_id::PROPERTY_MINT_OUTPUT => Self::PropertyMint(OutputOwners::decode(r)?),
            type_id::PROPERTY_OWNED_OUTPUT => Self::PropertyOwned(OutputOwners::decode(r)?),
            _ => return Ok(None),
        }))
    }
}

/// An output of a transaction: an amount of an asset. Only the secp256k1 extension has such outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransferableOutput {
    /// The asset.
    pub asset_id: AssetId,
    /// Amount and owners.
    pub output: TransferOutput,
}

impl TransferableOutput {
    /// The order that lists of outputs must have: asset, then encoded output.
    pub fn cmp_encoded(&self, other: &Self) -> Ordering {
        self.asset_id.cmp(&other.asset_id).then_with(|| self.output.cmp_encoded(&other.output))
    }

    /// Whether a list has the order that the reference requires (equal outputs are allowed).
    pub fn is_sorted(outputs: &[Self]) -> bool {
        outputs.is_sorted_by(|a, b| a.cmp_encoded(b) != Ordering::Greater)
    }

    /// Sorts a list into that order.
    pub fn sort(outputs: &mut [Self]) {
        outputs.sort_by(Self::cmp_encoded);
    }
}

impl Encode for TransferableOutput {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.asset_id);
        w.type_id(type_id::SECP_TRANSFER_OUTPUT);
        self.output.encode(w);
    }
}

impl Decode for TransferableOutput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let asset_id = r.id()?;
        let type_id = r.type_id()?;
        if type_id != type_id::SECP_TRANSFER_OUTPUT {
            return Err(type_id::wrong_type_id(type_id, interface::TRANSFERABLE_OUT));
        }
        Ok(Self { asset_id, output: TransferOutput::decode(r)? })
    }
}
