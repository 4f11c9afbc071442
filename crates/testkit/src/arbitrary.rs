//! Generators of well-formed, not necessarily valid, values.

use esker_primitives::ids::{Id, ShortId};
use esker_primitives::keys::Signature;
use esker_utxo::{
    CredentialSlot, FxKind, FxOperation, NftMintOperation, NftMintOutput, NftTransferOperation,
    NftTransferOutput, NonCredential, Output, OutputOwners, PropertyMintOperation,
    SecpMintOperation, TransferInput, TransferOutput, TransferableInput, TransferableOutput, Utxo,
    UtxoId,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Few values, so that ties and neighbours in orders come up.
fn small_u64() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..3_u64, 1 => any::<u64>()]
}

fn small_u32() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 0..4_u32, 1 => any::<u32>()]
}

pub fn id() -> impl Strategy<Value = Id> {
    prop_oneof![3 => (0..3_u8).prop_map(|byte| Id::new([byte; 32])), 1 => any::<[u8; 32]>().prop_map(Id::new)]
}

fn short_id() -> impl Strategy<Value = ShortId> {
    prop_oneof![
        3 => (0..3_u8).prop_map(|byte| ShortId::new([byte; 20])),
        1 => any::<[u8; 20]>().prop_map(ShortId::new)
    ]
}

pub fn owners() -> BoxedStrategy<OutputOwners> {
    (small_u64(), small_u32(), vec(short_id(), 0..4))
        .prop_map(|(locktime, threshold, addresses)| OutputOwners {
            locktime,
            threshold,
            addresses,
        })
        .boxed()
}

pub fn transfer_output() -> BoxedStrategy<TransferOutput> {
    (small_u64(), owners()).prop_map(|(amount, owners)| TransferOutput { amount, owners }).boxed()
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    vec(0..3_u8, 0..4)
}

fn nft_transfer_output() -> BoxedStrategy<NftTransferOutput> {
    (small_u32(), payload(), owners())
        .prop_map(|(group_id, payload, owners)| NftTransferOutput { group_id, payload, owners })
        .boxed()
}

pub fn output() -> BoxedStrategy<Output> {
    let nft_mint = (small_u32(), owners())
        .prop_map(|(group_id, owners)| Output::NftMint(NftMintOutput { group_id, owners }));
    prop_oneof![
        owners().prop_map(Output::SecpMint),
        transfer_output().prop_map(Output::SecpTransfer),
        nft_mint,
        nft_transfer_output().prop_map(Output::NftTransfer),
        owners().prop_map(Output::PropertyMint),
        owners().prop_map(Output::PropertyOwned),
    ]
    .boxed()
}

fn indices() -> impl Strategy<Value = Vec<u32>> {
    vec(small_u32(), 0..4)
}

pub fn operation() -> BoxedStrategy<FxOperation> {
    prop_oneof![
        (indices(), owners(), transfer_output()).prop_map(
            |(mint_input, mint_output, transfer_output)| FxOperation::SecpMint(SecpMintOperation {
                mint_input,
                mint_output,
                transfer_output
            })
        ),
        (indices(), small_u32(), payload(), vec(owners(), 0..3)).prop_map(
            |(mint_input, group_id, payload, outputs)| FxOperation::NftMint(NftMintOperation {
                mint_input,
                group_id,
                payload,
                outputs
            })
        ),
        (indices(), nft_transfer_output()).prop_map(|(input, output)| {
            FxOperation::NftTransfer(NftTransferOperation { input, output })
        }),
        (indices(), owners(), owners()).prop_map(|(mint_input, mint_output, owned_output)| {
            FxOperation::PropertyMint(PropertyMintOperation {
                mint_input,
                mint_output,
                owned_output,
            })
        }),
        indices().prop_map(FxOperation::PropertyBurn),
    ]
    .boxed()
}

fn transfer_input() -> impl Strategy<Value = TransferInput> {
    (small_u64(), indices()).prop_map(|(amount, sig_indices)| TransferInput { amount, sig_indices })
}

pub fn utxo_id() -> impl Strategy<Value = UtxoId> {
    (id(), small_u32()).prop_map(|(tx_id, output_index)| UtxoId { tx_id, output_index })
}

pub fn transferable_input() -> BoxedStrategy<TransferableInput> {
    (utxo_id(), id(), transfer_input())
        .prop_map(|(utxo_id, asset_id, input)| TransferableInput { utxo_id, asset_id, input })
        .boxed()
}

pub fn transferable_output() -> BoxedStrategy<TransferableOutput> {
    (id(), transfer_output())
        .prop_map(|(asset_id, output)| TransferableOutput { asset_id, output })
        .boxed()
}

pub fn utxo() -> BoxedStrategy<Utxo> {
    (utxo_id(), id(), output())
        .prop_map(|(utxo_id, asset_id, output)| Utxo { utxo_id, asset_id, output })
        .boxed()
}

fn signature() -> impl Strategy<Value = Signature> {
    vec(any::<u8>(), 65).prop_map(|bytes| Signature::new(bytes.try_into().unwrap()))
}

pub fn credential() -> BoxedStrategy<CredentialSlot> {
    let real = (0..3_u32, vec(signature(), 0..3)).prop_map(|(fx, signatures)| {
        CredentialSlot::new(FxKind::from_index(fx).unwrap(), signatures)
    });
    let foreign = prop_oneof![
        transfer_input().prop_map(NonCredential::Input),
        output().prop_map(NonCredential::Output),
        operation().prop_map(NonCredential::Operation),
    ];
    prop_oneof![3 => real, 1 => foreign.prop_map(|foreign| CredentialSlot::NonCredential(Box::new(foreign)))].boxed()
}
