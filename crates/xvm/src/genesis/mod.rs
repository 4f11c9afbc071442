//! Genesis of an asset-VM chain: its first assets, and its block of height 0.
//!
//! [`Genesis`] is the byte form; [`define`] builds it from a description; [`primary`] derives the chains of
//! the primary network, their IDs and genesis blocks.

use esker_primitives::codec::{CodecError, Decode, Encode, MAX_GENESIS_SIZE, Reader, Writer};
use esker_primitives::ids::AssetId;
use esker_transactions::xvm::{CreateAssetTx, Tx, UnsignedTx};

pub mod define;
pub mod primary;

/// The assets that exist from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Genesis {
    /// Ascending by alias. The first is the asset that fees are paid in.
    pub assets: Vec<GenesisAsset>,
}

/// An asset that exists from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisAsset {
    /// A name that may stand for the asset's ID in requests to this chain. Bytes: the codec checks no UTF-8.
    pub alias: Vec<u8>,
    /// The asset: no inputs, no outputs besides its initial states, blockchain ID zero.
    pub tx: CreateAssetTx,
}

/// The reason why a chain cannot start from given genesis bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenesisError {
    /// The bytes are no genesis.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// An asset has outputs outside of its initial states.
    #[error("genesis asset must have non-empty state")]
    AssetMustHaveState,
    /// There is no asset to pay fees in.
    #[error("genesis has no asset to pay fees in")]
    NoAssets,
}

impl Genesis {
    /// Decodes genesis bytes, of any length, and checks what a chain needs to start from them.
    pub fn parse(bytes: &[u8]) -> Result<Self, GenesisError> {
        let genesis = Self::from_versioned_bytes(bytes, MAX_GENESIS_SIZE)?;
        if genesis.assets.is_empty() {
            return Err(GenesisError::NoAssets);
        }
        if genesis.assets.iter().any(|asset| !asset.tx.base.outputs.is_empty()) {
            return Err(GenesisError::AssetMustHaveState);
        }
        Ok(genesis)
    }

    /// Genesis bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_versioned_bytes()
    }

    /// The asset that fees are paid in: the first. `None` of a genesis without assets, which
    /// [`parse`](Self::parse) refuses.
    pub fn fee_asset_id(&self) -> Option<AssetId> {
        Some(self.assets.first()?.asset_id())
    }
}

impl GenesisAsset {
    /// The transaction that creates the asset: it carries no credentials, and its ID is the asset's.
    pub fn to_tx(&self) -> Tx {
        Tx::new(UnsignedTx::CreateAsset(self.tx.clone()), Vec::new())
    }

    /// The asset's ID.
    pub fn asset_id(&self) -> AssetId {
        self.to_tx().id()
    }
}

impl Encode for GenesisAsset {
    fn encode(&self, w: &mut Writer) {
        w.string_bytes(&self.alias);
        self.tx.encode(w);
    }
}

impl Decode for GenesisAsset {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { alias: r.string_bytes()?.to_vec(), tx: CreateAssetTx::decode(r)? })
    }
}

impl Encode for Genesis {
    fn encode(&self, w: &mut Writer) {
        w.values(&self.assets);
    }
}

impl Decode for Genesis {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { assets: r.values()? })
    }
}
