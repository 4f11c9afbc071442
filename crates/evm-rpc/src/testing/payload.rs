//! Built blocks as replies: the form of the engine API.

use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::Bytes;
use esker_evm::chain::RequestedBlock;
use esker_evm::pool::Sidecar;
use esker_evm_state::types::SealedBlock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::{Addr, Big, Data, Hash, Uint64, WithdrawalMembers};

/// A block, what it pays, and what belongs to it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EnvelopeReply {
    execution_payload: PayloadReply,
    block_value: Big,
    blobs_bundle: BundleReply,
    /// Requests of contracts to the consensus layer: a byte with the type, then its data.
    execution_requests: Vec<Data>,
    should_override_builder: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PayloadReply {
    parent_hash: Hash,
    fee_recipient: Addr,
    state_root: Hash,
    receipts_root: Hash,
    logs_bloom: Data,
    prev_randao: Hash,
    block_number: Uint64,
    gas_limit: Uint64,
    gas_used: Uint64,
    timestamp: Uint64,
    extra_data: Data,
    base_fee_per_gas: Big,
    block_hash: Hash,
    transactions: Vec<Data>,
    withdrawals: Option<Vec<WithdrawalMembers>>,
    blob_gas_used: Option<Uint64>,
    excess_blob_gas: Option<Uint64>,
}

/// Blobs of a block.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct BundleReply {
    commitments: Vec<Data>,
    proofs: Vec<Data>,
    blobs: Vec<Data>,
}

impl EnvelopeReply {
    /// The reply of a built block.
    pub(super) fn new(built: RequestedBlock) -> Self {
        let RequestedBlock { block, value, sidecars, requests } = built;
        Self {
            execution_payload: payload(&block),
            block_value: Big(value),
            blobs_bundle: bundle(&sidecars),
            execution_requests: requests.into_iter().map(Data).collect(),
            should_override_builder: false,
        }
    }
}

fn payload(sealed: &SealedBlock) -> PayloadReply {
    let (header, block) = (&sealed.block.header, &sealed.block);
    let withdrawals = block.withdrawals.as_ref();
    PayloadReply {
        parent_hash: Hash(header.parent_hash),
        fee_recipient: Addr(header.coinbase),
        state_root: Hash(header.state_root),
        receipts_root: Hash(header.receipts_root),
        logs_bloom: Data(Bytes::copy_from_slice(header.bloom.as_slice())),
        prev_randao: Hash(header.mix_digest),
        block_number: Uint64(header.number),
        gas_limit: Uint64(header.gas_limit),
        gas_used: Uint64(header.gas_used),
        timestamp: Uint64(header.time),
        extra_data: Data(header.extra.clone()),
        base_fee_per_gas: Big(header.base_fee.unwrap_or_default()),
        block_hash: Hash(sealed.hash),
        transactions: block.transactions.iter().map(|tx| Data(tx.encoded_2718().into())).collect(),
        withdrawals: withdrawals.map(|list| list.iter().map(WithdrawalMembers::from).collect()),
        blob_gas_used: header.blob_gas_used.map(Uint64),
        excess_blob_gas: header.excess_blob_gas.map(Uint64),
    }
}

fn bundle(sidecars: &[Sidecar]) -> BundleReply {
    let data = |bytes: &[u8]| Data(Bytes::copy_from_slice(bytes));
    let mut bundle = BundleReply::default();
    for sidecar in sidecars {
        let (blobs, commitments, proofs) = match sidecar {
            Sidecar::Eip4844(sidecar) => (&sidecar.blobs, &sidecar.commitments, &sidecar.proofs),
            Sidecar::Eip7594(sidecar) => {
                (&sidecar.blobs, &sidecar.commitments, &sidecar.cell_proofs)
            }
        };
        bundle.blobs.extend(blobs.iter().map(|blob| data(blob.as_slice())));
        bundle.commitments.extend(commitments.iter().map(|one| data(one.as_slice())));
        bundle.proofs.extend(proofs.iter().map(|one| data(one.as_slice())));
    }
    bundle
}
