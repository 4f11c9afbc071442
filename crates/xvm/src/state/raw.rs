//! Reads fields of an encoded UTXO, so that pages and balances over 100,000 UTXOs decode only what they need.

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

#[cfg(test)]
mod tests {
    use esker_primitives::codec::{Decode, Encode};
    use esker_utxo::{
        NftMintOutput, NftTransferOutput, Output, OutputOwners, TransferOutput, Utxo,
    };
    use proptest::prelude::*;

    use super::*;

    fn outputs() -> impl Strategy<Value = Output> {
        let owners = (any::<u64>(), any::<u32>(), prop::collection::vec(any::<[u8; 20]>(), 0..5))
            .prop_map(|(locktime, threshold, addresses)| OutputOwners {
                locktime,
                threshold,
                addresses: addresses.into_iter().map(ShortId::new).collect(),
            });
        let payload = prop::collection::vec(any::<u8>(), 0..40);
        (0..6, owners, any::<u64>(), any::<u32>(), payload).prop_map(
            |(kind, owners, amount, group_id, payload)| match kind {
                0 => Output::SecpMint(owners),
                1 => Output::NftMint(NftMintOutput { group_id, owners }),
                2 => Output::NftTransfer(NftTransferOutput { group_id, payload, owners }),
                3 => Output::PropertyMint(owners),
                4 => Output::PropertyOwned(owners),
                _ => Output::SecpTransfer(TransferOutput { amount, owners }),
            },
        )
    }

    fn same(raw: RawUtxo<'_>, utxo: &Utxo) {
        assert_eq!(raw.utxo_id(), utxo.utxo_id);
        assert_eq!(raw.asset_id(), utxo.asset_id);
        assert_eq!(raw.amount(), utxo.output.as_transfer().map(|out| out.amount));
        assert_eq!(raw.locktime(), utxo.output.owners().locktime);
        assert!(raw.addresses().eq(utxo.output.owners().addresses.iter().copied()));
    }

    proptest! {
        #[test]
        fn it_reads_what_the_codec_writes(
            tx_id: [u8; 32],
            output_index: u32,
            asset: [u8; 32],
            output in outputs(),
        ) {
            let utxo = Utxo {
                utxo_id: UtxoId { tx_id: TxId::new(tx_id), output_index },
                asset_id: AssetId::new(asset),
                output,
            };
            let bytes = utxo.to_versioned_bytes();
            same(RawUtxo::new(&bytes).unwrap(), &utxo);
            let (_, cut) = bytes.split_last().unwrap();
            prop_assert!(RawUtxo::new(cut).is_none());
        }

        /// Any bytes are read as the codec reads them, or not at all.
        #[test]
        fn it_is_total(output in outputs(), at: prop::sample::Index, changed: [u8; 4]) {
            let utxo = Utxo { utxo_id: UtxoId::default(), asset_id: AssetId::ZERO, output };
            let mut bytes = utxo.to_versioned_bytes();
            // Not the version, which stored rows all have.
            let (_, fields) = bytes.split_at_mut(2);
            let at = at.index(fields.len());
            for (byte, new) in fields.iter_mut().skip(at).zip(changed) {
                *byte = new;
            }
            match (RawUtxo::new(&bytes), Utxo::from_versioned_bytes(&bytes, usize::MAX)) {
                (Some(raw), Ok(utxo)) => same(raw, &utxo),
                (None, Err(_)) => {}
                (raw, utxo) => panic!("{raw:?} {utxo:?}"),
            }
        }

        #[test]
        fn any_bytes_do(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = RawUtxo::new(&bytes);
        }
    }
}
