//! Operations that the user's outputs allow: minting, minting and sending NFTs.

use std::ops::ControlFlow;

use esker_primitives::{AssetId, ShortId};
use esker_storage::StorageResult;
use esker_transactions::xvm::Operation;
use esker_utxo::{
    FxKind, FxOperation, Keychain, NftMintOperation, NftTransferOperation, NftTransferOutput,
    Output, OutputOwners, SecpMintOperation, SigningOwners, TransferOutput, Utxo,
};

use super::coins::decode;
use super::{Coins, SpendError};

/// An operation with the owners that sign it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorisedOperation {
    pub(super) operation: Operation,
    pub(super) fx: FxKind,
    pub(super) signers: Vec<ShortId>,
}

impl AuthorisedOperation {
    fn new(utxo: &Utxo, signing: SigningOwners, op: impl FnOnce(Vec<u32>) -> FxOperation) -> Self {
        let op = op(signing.indices);
        let (asset_id, utxo_ids) = (utxo.asset_id, vec![utxo.utxo_id]);
        let fx = op.fx();
        Self { operation: Operation { asset_id, utxo_ids, op }, fx, signers: signing.addresses }
    }
}

/// Mints `amount` units of an asset to `to`, by the first mint output that the keys can use.
pub fn mint(
    coins: &dyn Coins,
    keys: &Keychain,
    (asset, amount): (AssetId, u64),
    to: ShortId,
    now_s: u64,
) -> Result<AuthorisedOperation, SpendError> {
    let mintable = |output: &Output| matches!(output, Output::SecpMint(_));
    let (utxo, signing) =
        find(coins, keys, &asset, now_s, mintable)?.ok_or(SpendError::NoAuthority)?;
    let mint_output = utxo.output.owners().clone();
    let transfer_output = TransferOutput { amount, owners: OutputOwners::single(to) };
    Ok(AuthorisedOperation::new(&utxo, signing, |mint_input| {
        FxOperation::SecpMint(SecpMintOperation { mint_input, mint_output, transfer_output })
    }))
}

/// Mints an NFT to `to`, by the first mint output that the keys can use, whatever its group; that is used up.
pub fn mint_nft(
    coins: &dyn Coins,
    keys: &Keychain,
    asset: &AssetId,
    payload: Vec<u8>,
    to: ShortId,
    now_s: u64,
) -> Result<AuthorisedOperation, SpendError> {
    let mintable = |output: &Output| matches!(output, Output::NftMint(_));
    let found = find(coins, keys, asset, now_s, mintable)?;
    let Some((utxo, signing)) = found else { return Err(SpendError::NoAuthority) };
    let Output::NftMint(minting) = &utxo.output else { return Err(SpendError::NoAuthority) };
    let (group_id, outputs) = (minting.group_id, vec![OutputOwners::single(to)]);
    Ok(AuthorisedOperation::new(&utxo, signing, |mint_input| {
        FxOperation::NftMint(NftMintOperation { mint_input, group_id, payload, outputs })
    }))
}

/// Transfers the first NFT of a group that the keys can spend to `to`.
pub fn send_nft(
    coins: &dyn Coins,
    keys: &Keychain,
    (asset, group_id): (AssetId, u32),
    to: ShortId,
    now_s: u64,
) -> Result<AuthorisedOperation, SpendError> {
    let of_group =
        |output: &Output| matches!(output, Output::NftTransfer(nft) if nft.group_id == group_id);
    let found = find(coins, keys, &asset, now_s, of_group)?;
    let Some((utxo, signing)) = found else { return Err(SpendError::NoNft) };
    let Output::NftTransfer(nft) = &utxo.output else { return Err(SpendError::NoNft) };
    let (payload, owners) = (nft.payload.clone(), OutputOwners::single(to));
    let output = NftTransferOutput { group_id, payload, owners };
    Ok(AuthorisedOperation::new(&utxo, signing, |input| {
        FxOperation::NftTransfer(NftTransferOperation { input, output })
    }))
}

/// The first UTXO of an asset that is `wanted` and that the keys can spend at `now_s`.
fn find(
    coins: &dyn Coins,
    keys: &Keychain,
    asset: &AssetId,
    now_s: u64,
    wanted: impl Fn(&Output) -> bool,
) -> StorageResult<Option<(Utxo, SigningOwners)>> {
    let mut outcome = Ok(None);
    coins.visit(&keys.addresses().copied().collect(), &mut |raw| {
        if raw.asset_id() != *asset {
            return ControlFlow::Continue(());
        }
        match decode(raw) {
            Ok(utxo) if wanted(&utxo.output) => {
                match keys.signing_owners(utxo.output.owners(), now_s) {
                    Some(signing) => outcome = Ok(Some((utxo, signing))),
                    None => return ControlFlow::Continue(()),
                }
            }
            Ok(_) => return ControlFlow::Continue(()),
            Err(error) => outcome = Err(error),
        }
        ControlFlow::Break(())
    })?;
    outcome
}
