//! The EVM's side of atomic transactions: accounts, where the asset chains have UTXOs.

use alloy_primitives::Address;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::AssetId;

/// An amount that an import gives to an account. Ordered by address, then asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EvmOutput {
    /// The account.
    pub address: Address,
    /// In the asset's smallest unit (for the native asset a billionth); never 0 in a valid output.
    pub amount: u64,
    /// The asset.
    pub asset_id: AssetId,
}

/// An amount that an export takes from an account. Ordered by address, then asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EvmInput {
    /// The account.
    pub address: Address,
    /// In the asset's smallest unit (for the native asset a billionth); never 0 in a valid input.
    pub amount: u64,
    /// The asset.
    pub asset_id: AssetId,
    /// The account's nonce, which the export uses up.
    pub nonce: u64,
}

impl EvmOutput {
    /// The key by which lists of outputs are sorted.
    pub const fn order(&self) -> (Address, AssetId) {
        (self.address, self.asset_id)
    }
}

impl EvmInput {
    /// The key by which lists of inputs are sorted.
    pub const fn order(&self) -> (Address, AssetId) {
        (self.address, self.asset_id)
    }
}

impl Encode for EvmOutput {
    fn encode(&self, w: &mut Writer) {
        w.fixed(self.address.as_slice());
        w.u64(self.amount);
        w.id(&self.asset_id);
    }
}

impl Decode for EvmOutput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { address: Address::new(r.fixed()?), amount: r.u64()?, asset_id: r.id()? })
    }
}

impl Encode for EvmInput {
    fn encode(&self, w: &mut Writer) {
        w.fixed(self.address.as_slice());
        w.u64(self.amount);
        w.id(&self.asset_id);
        w.u64(self.nonce);
    }
}

impl Decode for EvmInput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            address: Address::new(r.fixed()?),
            amount: r.u64()?,
            asset_id: r.id()?,
            nonce: r.u64()?,
        })
    }
}
