//! The rows of the address index, which hold UTXOs in short forms: a page is one scan, and the index stays small.
//!
//! Nearly every UTXO is an amount with one owner. The key of the row holds this owner, so the row omits what follows
//! from the key and the chain. A commit costs by the pages of the store that it changes, so short rows make blocks
//! cheap.

use esker_primitives::{AssetId, ShortId, TxId};
use esker_storage::KeyCodec;
use esker_utxo::{Utxo, UtxoId, type_id};

use super::tables::utxo_key;

/// Longest UTXO, in bytes, that is repeated whole for each of its addresses: an amount for up to eight owners. Above
/// it a page reads the UTXO itself. Without the bound one transaction of 64 KiB with 3,000 owners would write
/// 180 MB.
const MAX_WHOLE: usize = 260;

/// Lengths of the forms, by which a row is decoded: the key in [`UTXOS`](super::tables::UTXOS); the key and an amount
/// of the fee asset; these with asset and locktime. A whole UTXO is longer than all of them.
const KEY_LEN: usize = 36;
const BRIEF_LEN: usize = 44;
const FULL_LEN: usize = 84;

/// Bytes of an amount with one owner, as it travels.
const REBUILT_LEN: usize = 118;

/// The value of a UTXO's rows; `bytes` are the UTXO's own, version prefix included.
pub(crate) fn encode(utxo: &Utxo, bytes: &[u8], fee_asset_id: &AssetId) -> Vec<u8> {
    let mut row = Vec::with_capacity(FULL_LEN);
    if let Some(out) = utxo.output.as_transfer()
        && out.owners.threshold == 1
        && out.owners.addresses.len() == 1
    {
        utxo_key(&utxo.utxo_id).encode_key(&mut row);
        row.extend_from_slice(&out.amount.to_be_bytes());
        if utxo.asset_id != *fee_asset_id || out.owners.locktime != 0 {
            row.extend_from_slice(utxo.asset_id.as_bytes());
            row.extend_from_slice(&out.owners.locktime.to_be_bytes());
        }
    } else if bytes.len() > MAX_WHOLE {
        utxo_key(&utxo.utxo_id).encode_key(&mut row);
    } else {
        row.extend_from_slice(bytes);
    }
    row
}

/// A decoded row.
#[derive(Debug)]
pub(crate) enum IndexRow<'a> {
    /// The UTXO's bytes, version prefix included.
    Whole(&'a [u8]),
    /// The same, rebuilt from a short row.
    Rebuilt([u8; REBUILT_LEN]),
    /// The UTXO's ID: the UTXO is too long for the row.
    Reference(UtxoId),
}

/// Reads a row of `address`; `None` if it is damaged.
pub(crate) fn decode<'a>(
    row: &'a [u8],
    address: &ShortId,
    fee_asset_id: &AssetId,
) -> Option<IndexRow<'a>> {
    match row.len() {
        KEY_LEN => {
            let (tx_id, index) = row.split_first_chunk::<32>()?;
            let output_index = u32::from_be_bytes(*index.first_chunk()?);
            Some(IndexRow::Reference(UtxoId { tx_id: TxId::new(*tx_id), output_index }))
        }
        BRIEF_LEN | FULL_LEN => rebuild(row, address, fee_asset_id).map(IndexRow::Rebuilt),
        len if len > FULL_LEN => Some(IndexRow::Whole(row)),
        _ => None,
    }
}

/// Rebuilds an amount with one owner.
fn rebuild(row: &[u8], address: &ShortId, fee_asset_id: &AssetId) -> Option<[u8; REBUILT_LEN]> {
    let (key, rest) = row.split_at_checked(KEY_LEN)?;
    let (amount, rest) = rest.split_at_checked(8)?;
    let (asset, locktime): (&[u8], &[u8]) = match rest.split_at_checked(32) {
        Some(parts) => parts,
        None => (fee_asset_id.as_bytes(), &[0; 8]),
    };
    let mut utxo = [0; REBUILT_LEN];
    let mut at = 2usize;
    let kind = type_id::SECP_TRANSFER_OUTPUT.to_be_bytes();
    let one = 1u32.to_be_bytes();
    for part in [key, asset, &kind, amount, locktime, &one, &one, address.as_bytes()] {
        let end = at.checked_add(part.len())?;
        utxo.get_mut(at..end)?.copy_from_slice(part);
        at = end;
    }
    (at == REBUILT_LEN).then_some(utxo)
}

#[cfg(test)]
mod tests {
    use esker_primitives::codec::{Decode, Encode};
    use esker_utxo::{Output, OutputOwners, TransferOutput};
    use proptest::prelude::*;

    use super::*;

    const FEE_ASSET: AssetId = AssetId::new([9; 32]);

    /// The element that the row of an address stands for; `None` if it points elsewhere.
    fn listed(utxo: &Utxo, address: &ShortId) -> Option<Vec<u8>> {
        let bytes = utxo.to_versioned_bytes();
        let row = encode(utxo, &bytes, &FEE_ASSET);
        match decode(&row, address, &FEE_ASSET).unwrap() {
            IndexRow::Whole(bytes) => Some(bytes.to_vec()),
            IndexRow::Rebuilt(bytes) => {
                assert!(row.len() < bytes.len());
                Some(bytes.to_vec())
            }
            IndexRow::Reference(id) => {
                assert_eq!(id, utxo.utxo_id);
                assert!(bytes.len() > MAX_WHOLE);
                None
            }
        }
    }

    proptest! {
        #[test]
        fn rows_give_the_utxo_back(
            output_index: u32,
            fee_asset: bool,
            amount: u64,
            locktime in prop_oneof![Just(0u64), any::<u64>()],
            threshold in 0u32..3,
            addresses in prop::collection::vec(any::<[u8; 20]>(), 1..12),
            mint: bool,
        ) {
            let addresses: Vec<ShortId> = addresses.into_iter().map(ShortId::new).collect();
            let owners = OutputOwners { locktime, threshold, addresses: addresses.clone() };
            let output = if mint {
                Output::SecpMint(owners)
            } else {
                Output::SecpTransfer(TransferOutput { amount, owners })
            };
            let utxo = Utxo {
                utxo_id: UtxoId { tx_id: TxId::new([3; 32]), output_index },
                asset_id: if fee_asset { FEE_ASSET } else { AssetId::new([8; 32]) },
                output,
            };
            let bytes = utxo.to_versioned_bytes();
            for address in &addresses {
                match listed(&utxo, address) {
                    Some(got) => {
                        prop_assert_eq!(&got, &bytes);
                        prop_assert_eq!(Utxo::from_versioned_bytes(&got, 1000).unwrap(), utxo.clone());
                    }
                    None => prop_assert!(addresses.len() > 8),
                }
            }
        }

        #[test]
        fn any_bytes_decode_or_fail(row in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&row, &ShortId::ZERO, &FEE_ASSET);
        }
    }
}
