//! A UTXO read where it lies: pages and balances over 100,000 UTXOs don't decode what they don't show.

use esker_primitives::{AssetId, ShortId, TxId};
use esker_utxo::{UtxoId, type_id};

/// Offsets in `u16 version | tx ID 32 | index u32 | asset ID 32 | type u32 | output`.
const TX_ID_AT: usize = 2;
const INDEX_AT: usize = 34;
const ASSET_AT: usize = 38;
const TYPE_AT: usize = 70;
const OUTPUT_AT: usize = 74;

/// The bytes of one UTXO, version prefix included, and where its owners stand in them.
#[derive(Clone, Copy, Debug)]
pub struct RawUtxo<'a> {
    bytes: &'a [u8],
    owners_at: usize,
}

impl<'a> RawUtxo<'a> {
    /// A UTXO as it is stored; `None` where the bytes are no UTXO.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let owners_at = match read_u32(bytes, TYPE_AT)? {
            type_id::SECP_MINT_OUTPUT
            | type_id::PROPERTY_MINT_OUTPUT
            | type_id::PROPERTY_OWNED_OUTPUT => OUTPUT_AT,
            type_id::SECP_TRANSFER_OUTPUT => OUTPUT_AT.checked_add(8)?,
            type_id::NFT_MINT_OUTPUT => OUTPUT_AT.checked_add(4)?,
            type_id::NFT_TRANSFER_OUTPUT => {
                let payload_at = OUTPUT_AT.checked_add(4)?;
                let payload = usize::try_from(read_u32(bytes, payload_at)?).ok()?;
                payload_at.checked_add(4)?.checked_add(payload)?
            }
            _ => return None,
        };
        let utxo = Self { bytes, owners_at };
        let end = owners_at.checked_add(16)?.checked_add(utxo.address_count()?.checked_mul(20)?)?;
        (end == bytes.len()).then_some(utxo)
    }

    /// All bytes, as they travel.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Which output of which transaction it is.
    pub fn utxo_id(&self) -> UtxoId {
        let tx_id = TxId::new(read(self.bytes, TX_ID_AT).unwrap_or_default());
        UtxoId { tx_id, output_index: read_u32(self.bytes, INDEX_AT).unwrap_or_default() }
    }

    /// The asset it is of.
    pub fn asset_id(&self) -> AssetId {
        AssetId::new(read(self.bytes, ASSET_AT).unwrap_or_default())
    }

    /// Amount, if it holds one: NFTs, properties and minting rights don't.
    pub fn amount(&self) -> Option<u64> {
        (read_u32(self.bytes, TYPE_AT)? == type_id::SECP_TRANSFER_OUTPUT)
            .then(|| read(self.bytes, OUTPUT_AT).map(u64::from_be_bytes))?
    }

    /// Unix seconds before which it can't be spent.
    pub fn locktime(&self) -> u64 {
        read(self.bytes, self.owners_at).map_or(0, u64::from_be_bytes)
    }

    /// The addresses that own it, ascending.
    pub fn addresses(&self) -> impl ExactSizeIterator<Item = ShortId> + use<'a> {
        let list = self.owners_at.checked_add(16).and_then(|at| self.bytes.get(at..));
        let (addresses, _) = list.unwrap_or_default().as_chunks::<20>();
        addresses.iter().map(|address| ShortId::new(*address))
    }

    fn address_count(&self) -> Option<usize> {
        let at = self.owners_at.checked_add(12)?;
        usize::try_from(read_u32(self.bytes, at)?).ok()
    }
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    read(bytes, at).map(u32::from_be_bytes)
}
