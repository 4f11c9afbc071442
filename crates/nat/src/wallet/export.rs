//! Exporting an amount out of the accounts of some keys.

use alloy_primitives::Address;
use esker_evm::accounts::address_of_key;
use esker_evm_state::state::StateError;
use esker_primitives::ids::{AssetId, ChainId, ShortId};
use esker_primitives::keys::PrivateKey;
use esker_transactions::nat::{
    AtomicTx, EvmInput, GAS_PER_EVM_INPUT, UnsignedAtomicTx, UnsignedExport, dynamic_fee,
};
use esker_utxo::{OutputOwners, TransferOutput, TransferableOutput};

use super::{InputsError, TxParams, WalletError};

/// The amount of an asset that an account holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountFunds {
    /// In the asset's smallest unit (for the native asset a billionth, rounded down).
    pub amount: u64,
    /// The account's nonce.
    pub nonce: u64,
}

/// Who pays: keys, in the order in which they are asked, and what their accounts hold.
#[derive(Clone, Copy)]
pub struct Payer<'a> {
    /// Each once.
    pub keys: &'a [PrivateKey],
    /// Looks up an account.
    pub funds: &'a dyn Fn(&Address, &AssetId) -> Result<AccountFunds, StateError>,
}

impl std::fmt::Debug for Payer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payer").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

/// An input, and the key that signs for it.
type Inputs<'a> = Vec<(EvmInput, &'a PrivateKey)>;

/// Exports an amount of an asset to one owner on `destination`. The fee comes on top of it.
///
/// # Errors
/// The accounts can't pay both.
pub fn export(
    terms: TxParams,
    destination: ChainId,
    to: ShortId,
    (asset_id, amount): (AssetId, u64),
    payer: Payer<'_>,
) -> Result<AtomicTx, WalletError> {
    let owners = OutputOwners::single(to);
    let output = TransferableOutput { asset_id, output: TransferOutput { amount, owners } };
    let unsigned = |inputs: &Inputs<'_>| {
        UnsignedAtomicTx::Export(UnsignedExport {
            network_id: terms.network_id,
            blockchain_id: terms.chain_id,
            destination_chain: destination,
            inputs: inputs.iter().map(|(input, _)| *input).collect(),
            exported_outputs: vec![output.clone()],
        })
    };
    let is_native = asset_id == terms.native;
    let mut inputs = match is_native {
        true => Inputs::new(),
        false => payer.take(&asset_id, amount).map_err(WalletError::Inputs)?,
    };
    let gas = AtomicTx::new(unsigned(&inputs), Vec::new()).gas();
    let needed = if is_native { amount } else { 0 };
    inputs.extend(payer.take_with_fee(&terms, needed, gas).map_err(WalletError::Inputs)?);
    inputs.sort_by_key(|(input, _)| input.order());
    let signers: Vec<Vec<&PrivateKey>> = inputs.iter().map(|(_, key)| vec![*key]).collect();
    Ok(AtomicTx::sign(unsigned(&inputs), &signers))
}

impl<'a> Payer<'a> {
    fn accounts(&self) -> impl Iterator<Item = (Address, &'a PrivateKey)> {
        self.keys.iter().map(|key| (address_of_key(&key.public_key()), key))
    }

    /// Takes an amount of an asset, as much as possible of each account.
    fn take(&self, asset_id: &AssetId, mut amount: u64) -> Result<Inputs<'a>, InputsError> {
        let mut inputs = Inputs::new();
        for (address, key) in self.accounts() {
            if amount == 0 {
                break;
            }
            let AccountFunds { amount: held, nonce } = (self.funds)(&address, asset_id)?;
            let taken = held.min(amount);
            if taken > 0 {
                let input = EvmInput { address, amount: taken, asset_id: *asset_id, nonce };
                inputs.push((input, key));
                amount = amount.saturating_sub(taken);
            }
        }
        if amount == 0 { Ok(inputs) } else { Err(InputsError::InsufficientFunds) }
    }

    /// Takes an amount of the native asset, the fee of a transaction of `gas`, and what each further input adds
    /// to it. An account that holds no more than its input costs is passed over.
    fn take_with_fee(
        &self,
        terms: &TxParams,
        amount: u64,
        mut gas: u64,
    ) -> Result<Inputs<'a>, InputsError> {
        let fee = |gas| Ok::<u64, InputsError>(dynamic_fee(gas, terms.base_fee)?.0);
        let add = |a: u64, b: u64| a.checked_add(b).ok_or(InputsError::Overflow);
        let mut amount = add(amount, fee(gas)?)?;
        let mut inputs = Inputs::new();
        for (address, key) in self.accounts() {
            if amount == 0 {
                break;
            }
            let more_gas = gas.saturating_add(GAS_PER_EVM_INPUT);
            let extra = fee(more_gas)?.saturating_sub(fee(gas)?);
            let AccountFunds { amount: held, nonce } = (self.funds)(&address, &terms.native)?;
            if held <= extra {
                continue;
            }
            gas = more_gas;
            amount = add(amount, extra)?;
            let taken = held.min(amount);
            let input = EvmInput { address, amount: taken, asset_id: terms.native, nonce };
            inputs.push((input, key));
            amount = amount.saturating_sub(taken);
        }
        if amount == 0 { Ok(inputs) } else { Err(InputsError::InsufficientFunds) }
    }
}
