//! Sidecars of blob transactions: blobs, commitments and proofs, which blocks do not have (EIP-4844, EIP-7594).

use alloy_consensus::{BlobTransactionSidecar, Signed, TxEip4844, TxEip4844Variant};
use alloy_eips::eip4844::{BLOB_TX_MIN_BLOB_GASPRICE, Blob};
use alloy_eips::eip7594::{BlobTransactionSidecarVariant, CELLS_PER_EXT_BLOB};
use alloy_primitives::B256;
use c_kzg::{KzgSettings, ethereum_kzg_settings};
use esker_evm_execution::rules::{ExecutionRules, Revision};
use esker_evm_state::types::Transaction;
use thiserror::Error;

/// Bits of the tables for computing proofs of cells: none. With the eight that are usual these take two thirds of the
/// time, but nodes compute them for old wallets alone, and the tables take 96 MiB and more than a second.
const PRECOMPUTED: u64 = 0;

/// The sidecar of a blob transaction.
pub type Sidecar = BlobTransactionSidecarVariant;

/// Why blobs of a transaction are refused. The texts are geth's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlobError {
    /// The transaction has the form of blocks.
    #[error("missing sidecar in blob transaction")]
    MissingSidecar,
    /// No block has so low a price of blob gas.
    #[error("transaction gas price below minimum: blob fee cap {fee_cap}, minimum needed {needed}")]
    FeeCap {
        /// Wei a blob gas.
        fee_cap: u128,
        /// Wei a blob gas.
        needed: u128,
    },
    /// There are no blobs.
    #[error("blobless blob transaction")]
    NoBlobs,
    /// There are more blobs than a transaction may have.
    #[error("too many blobs in transaction: have {have}, permitted {permitted}")]
    TooMany {
        /// Number of blobs.
        have: usize,
        /// Most blobs.
        permitted: u64,
    },
    /// Another number of blobs than of hashes.
    #[error("invalid number of {blobs} blobs compared to {hashes} blob hashes")]
    Blobs {
        /// Number of blobs.
        blobs: usize,
        /// Number of hashes.
        hashes: usize,
    },
    /// Another number of commitments than of hashes.
    #[error("invalid number of {commitments} blob commitments compared to {hashes} blob hashes")]
    Commitments {
        /// Number of commitments.
        commitments: usize,
        /// Number of hashes.
        hashes: usize,
    },
    /// A commitment that is not the one of its hash.
    #[error("blob {index}: computed hash {computed:#x} mismatches transaction one {given:#x}")]
    Hash {
        /// Index of the blob.
        index: usize,
        /// Hash of the commitment.
        computed: B256,
        /// Hash in the transaction.
        given: B256,
    },
    /// A wrong number of proofs.
    #[error("invalid number of {proofs} blob proofs expected {expected}")]
    Proofs {
        /// Number of proofs.
        proofs: usize,
        /// Right number.
        expected: usize,
    },
    /// Cell proofs before Osaka.
    #[error("invalid sidecar version pre-osaka: 1")]
    CellProofs,
    /// A proof that proves nothing.
    #[error("KZG verification error: {0}")]
    Kzg(String),
}

/// The trusted setup of Ethereum, which the first call takes a second or two to load.
fn kzg_settings() -> &'static KzgSettings {
    ethereum_kzg_settings(PRECOMPUTED)
}

/// The sidecar of blobs, with a proof for each of them.
pub fn sidecar_of(blobs: Vec<Blob>) -> Result<Sidecar, BlobError> {
    let settings = kzg_settings();
    let made = BlobTransactionSidecar::try_from_blobs_with_settings(blobs, settings);
    made.map(Sidecar::Eip4844).map_err(|error| BlobError::Kzg(format!("{error:?}")))
}

/// A transaction in the form of blocks, and its sidecar if it has one.
pub(super) fn split(tx: Transaction) -> (Transaction, Option<Sidecar>) {
    match tx {
        Transaction::Eip4844(signed) if signed.tx().sidecar().is_some() => {
            let (tx, signature, hash) = signed.into_parts();
            let (tx, sidecar) = tx.strip_sidecar();
            (Transaction::Eip4844(Signed::new_unchecked(tx, signature, hash)), sidecar)
        }
        tx => (tx, None),
    }
}

/// A transaction in the form of blocks.
pub fn without_sidecar(tx: Transaction) -> Transaction {
    split(tx).0
}

/// A transaction with its sidecar, as clients send it: the inverse of [`split`].
pub(super) fn join(tx: &Transaction, sidecar: &Sidecar) -> Transaction {
    let Transaction::Eip4844(signed) = tx else { return tx.clone() };
    let joined = signed.tx().tx().clone().with_sidecar(sidecar.clone());
    let joined = TxEip4844Variant::TxEip4844WithSidecar(joined);
    Transaction::Eip4844(Signed::new_unchecked(joined, *signed.signature(), *signed.hash()))
}

/// Checks the blobs of a transaction, except for the proofs.
pub(super) fn check(
    tx: &TxEip4844,
    sidecar: Option<&Sidecar>,
    rules: &ExecutionRules,
) -> Result<(), BlobError> {
    let sidecar = sidecar.ok_or(BlobError::MissingSidecar)?;
    let (fee_cap, needed) = (tx.max_fee_per_blob_gas, BLOB_TX_MIN_BLOB_GASPRICE);
    if fee_cap < needed {
        return Err(BlobError::FeeCap { fee_cap, needed });
    }
    let hashes = &tx.blob_versioned_hashes;
    if hashes.is_empty() {
        return Err(BlobError::NoBlobs);
    }
    let permitted = rules.blobs.map_or(0, |limits| limits.most_of_a_transaction());
    if hashes.len() as u64 > permitted {
        return Err(BlobError::TooMany { have: hashes.len(), permitted });
    }
    check_numbers(sidecar, hashes)?;
    if matches!(sidecar, Sidecar::Eip7594(_)) && rules.revision < Revision::Osaka {
        return Err(BlobError::CellProofs);
    }
    Ok(())
}

/// Checks the proofs of a sidecar that passed [`check`], which costs some milliseconds a blob. Returns it with the
/// proofs that `rules` want; to compute these costs much more.
pub(super) fn prove(
    sidecar: Sidecar,
    hashes: &[B256],
    rules: &ExecutionRules,
) -> Result<Sidecar, BlobError> {
    let settings = kzg_settings();
    let verified = sidecar.validate(hashes, settings);
    verified.map_err(|error| match sidecar {
        Sidecar::Eip4844(_) => BlobError::Kzg(format!("invalid blob proof: {error}")),
        Sidecar::Eip7594(_) => BlobError::Kzg(error.to_string()),
    })?;
    match rules.revision >= Revision::Osaka {
        // Wallets that know no cell proofs send the older form.
        true => sidecar
            .try_convert_into_eip7594_with_settings(settings)
            .map_err(|error| BlobError::Kzg(format!("{error:?}"))),
        false => Ok(sidecar),
    }
}

fn check_numbers(sidecar: &Sidecar, hashes: &[B256]) -> Result<(), BlobError> {
    let (blobs, commitments, proofs, expected) = match sidecar {
        Sidecar::Eip4844(sidecar) => {
            let blobs = sidecar.blobs.len();
            (blobs, sidecar.commitments.len(), sidecar.proofs.len(), blobs)
        }
        Sidecar::Eip7594(sidecar) => {
            let (blobs, proofs) = (sidecar.blobs.len(), sidecar.cell_proofs.len());
            (blobs, sidecar.commitments.len(), proofs, blobs * CELLS_PER_EXT_BLOB)
        }
    };
    if blobs != hashes.len() {
        return Err(BlobError::Blobs { blobs, hashes: hashes.len() });
    }
    if commitments != hashes.len() {
        return Err(BlobError::Commitments { commitments, hashes: hashes.len() });
    }
    for (index, (computed, given)) in sidecar.versioned_hashes().zip(hashes).enumerate() {
        if computed != *given {
            return Err(BlobError::Hash { index, computed, given: *given });
        }
    }
    match proofs == expected {
        true => Ok(()),
        false => Err(BlobError::Proofs { proofs, expected }),
    }
}

#[cfg(test)]
mod tests {
    use alloy_eips::eip2718::{Decodable2718 as _, Encodable2718 as _};
    use alloy_eips::eip7594::BlobTransactionSidecarEip7594;
    use alloy_primitives::Signature;

    use super::*;

    #[test]
    fn sidecars_survive_the_form_of_clients() {
        for sidecar in [
            Sidecar::Eip4844(BlobTransactionSidecar::default()),
            Sidecar::Eip7594(BlobTransactionSidecarEip7594::default()),
        ] {
            let tx = TxEip4844 { blob_versioned_hashes: vec![B256::ZERO], ..TxEip4844::default() };
            let signature = Signature::test_signature();
            let tx = Signed::new_unhashed(TxEip4844Variant::TxEip4844(tx), signature);
            let tx = Transaction::Eip4844(tx);
            let sent = join(&tx, &sidecar).encoded_2718();
            let sent = Transaction::decode_2718_exact(&sent).unwrap();
            assert_eq!(sent.tx_hash(), tx.tx_hash());
            assert_eq!(split(sent), (tx, Some(sidecar)));
        }
    }
}
