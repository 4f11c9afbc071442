//! Builds signed transactions from chosen coins.

use esker_primitives::{AssetId, ChainId, ShortId};
use esker_transactions::xvm::{
    BaseTx, CreateAssetTx, ExportTx, ImportTx, InitialState, OperationTx, Tx, UnsignedTx,
};
use esker_utxo::{
    FxKind, Keychain, Output, OutputOwners, TransferOutput, TransferableInput, TransferableOutput,
};

use super::choose::{Amounts, Chosen, ImportLimits, choose, choose_imports};
use super::operations::AuthorisedOperation;
use super::{Coins, SpendError};
use crate::verify::syntactic::Params;

/// Pays for transactions from coins and keys.
#[derive(Clone, Copy)]
pub struct Payer<'a> {
    /// The chain, and its fees.
    pub params: &'a Params,
    /// The coins to choose from.
    pub coins: &'a dyn Coins,
    /// The keys that spend them.
    pub keys: &'a Keychain,
    /// Who gets what is left.
    pub change: ShortId,
    /// Unix seconds: coins that are locked longer are not taken.
    pub now_s: u64,
}

impl std::fmt::Debug for Payer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payer").field("change", &self.change).finish_non_exhaustive()
    }
}

/// The inputs and change of a transaction whose coins are chosen.
#[derive(Clone, Debug)]
pub struct FundedBase {
    base: BaseTx,
    signers: Vec<Vec<ShortId>>,
}

/// Description and first outputs of a new asset.
#[derive(Clone, Debug, Default)]
pub struct NewAsset {
    /// At most 65535 bytes; the chain's rule is stricter.
    pub name: Vec<u8>,
    /// At most 65535 bytes; the chain's rule is stricter.
    pub symbol: Vec<u8>,
    /// Decimal places of the displayed unit.
    pub denomination: u8,
    /// Index of the feature extension of the outputs.
    pub fx_index: u32,
    /// In any order.
    pub outputs: Vec<Output>,
}

/// An output of `amount` units for one address.
fn output(asset_id: AssetId, amount: u64, to: ShortId) -> TransferableOutput {
    TransferableOutput {
        asset_id,
        output: TransferOutput { amount, owners: OutputOwners::single(to) },
    }
}

impl Payer<'_> {
    /// Chooses coins for `amounts` and `fee`, and adds change.
    ///
    /// # Errors
    /// They do not suffice.
    pub fn pay(&self, mut amounts: Amounts, fee: u64) -> Result<FundedBase, SpendError> {
        let of_fee_asset = amounts.entry(self.params.fee_asset_id).or_default();
        *of_fee_asset = of_fee_asset.checked_add(fee).ok_or(SpendError::WantedOverflow)?;
        let chosen = choose(self.coins, self.keys, &amounts, self.now_s)?;
        let change = chosen.taken.iter().filter_map(|(asset, taken)| {
            let wanted = amounts.get(asset).copied().unwrap_or_default();
            let rest = taken.checked_sub(wanted).filter(|rest| *rest > 0)?;
            Some(output(*asset, rest, self.change))
        });
        let outputs = change.collect();
        Ok(self.paid(chosen, outputs))
    }

    fn paid(&self, chosen: Chosen, outputs: Vec<TransferableOutput>) -> FundedBase {
        let (inputs, signers) = chosen.inputs.into_iter().unzip();
        let (network_id, blockchain_id) = (self.params.network_id, self.params.chain_id);
        let base = BaseTx { network_id, blockchain_id, outputs, inputs, memo: Vec::new() };
        FundedBase { base, signers }
    }

    /// Sends amounts, each to one address.
    pub fn send(&self, sent: &[(AssetId, u64, ShortId)], memo: Vec<u8>) -> Result<Tx, SpendError> {
        let mut amounts = Amounts::new();
        for (asset, amount, _) in sent {
            let sum = amounts.entry(*asset).or_default();
            *sum = u64::checked_add(*sum, *amount).ok_or(SpendError::WantedOverflow)?;
        }
        let mut paid = self.pay(amounts, self.params.tx_fee)?;
        paid.base.memo = memo;
        paid.base
            .outputs
            .extend(sent.iter().map(|(asset, amount, to)| output(*asset, *amount, *to)));
        Ok(paid.sign(self.keys, UnsignedTx::Base, Vec::new()))
    }

    /// Exports `amount` units of an asset for `to` on another chain.
    pub fn export(
        &self,
        destination_chain: ChainId,
        (asset, amount): (AssetId, u64),
        to: ShortId,
    ) -> Result<Tx, SpendError> {
        let paid = self.pay(Amounts::from([(asset, amount)]), self.params.tx_fee)?;
        let exported_outputs = vec![output(asset, amount, to)];
        let unsigned =
            |base| UnsignedTx::Export(ExportTx { base, destination_chain, exported_outputs });
        Ok(paid.sign(self.keys, unsigned, Vec::new()))
    }

    /// Imports to `to` whatever the keys can spend of `exported`, which `source_chain` exported. The fee comes out
    /// of that, what it lacks out of the payer's coins; the change of the latter goes to `to` too. Where there is
    /// nothing to import the transaction is one that no chain takes.
    pub fn import(
        &self,
        source_chain: ChainId,
        exported: &dyn Coins,
        limits: &ImportLimits<'_>,
        to: ShortId,
    ) -> Result<Tx, SpendError> {
        let imported = choose_imports(exported, self.keys, limits, self.now_s)?;
        let (fee_asset, fee) = (self.params.fee_asset_id, self.params.tx_fee);
        let lacking = fee.saturating_sub(imported.amount(&fee_asset));
        let local =
            choose(self.coins, self.keys, &Amounts::from([(fee_asset, lacking)]), self.now_s)?;
        let mut amounts = imported.taken;
        let of_fee_asset = amounts.entry(fee_asset).or_default();
        *of_fee_asset =
            of_fee_asset.checked_add(local.amount(&fee_asset)).ok_or(SpendError::WantedOverflow)?;
        // Covered: what was lacking has been chosen.
        *of_fee_asset = of_fee_asset.saturating_sub(fee);
        amounts.retain(|_, amount| *amount > 0);
        let outputs = amounts.iter().map(|(asset, amount)| output(*asset, *amount, to)).collect();
        let (imported_inputs, importers): (Vec<TransferableInput>, Vec<_>) =
            imported.inputs.into_iter().unzip();
        let importers = importers.into_iter().map(|who| (FxKind::Secp256k1, who)).collect();
        let unsigned = |base| UnsignedTx::Import(ImportTx { base, source_chain, imported_inputs });
        Ok(self.paid(local, outputs).sign(self.keys, unsigned, importers))
    }
}

impl FundedBase {
    /// Creates an asset.
    pub fn create_asset(self, keys: &Keychain, asset: NewAsset) -> Tx {
        let NewAsset { name, symbol, denomination, fx_index, mut outputs } = asset;
        outputs.sort_by(Output::cmp_encoded);
        let states = vec![InitialState { fx_index, outputs }];
        let unsigned = |base| {
            UnsignedTx::CreateAsset(CreateAssetTx { base, name, symbol, denomination, states })
        };
        self.sign(keys, unsigned, Vec::new())
    }

    /// Runs an operation. `keys` hold its signers and those of the inputs.
    pub fn operate(self, keys: &Keychain, authorised: AuthorisedOperation) -> Tx {
        let AuthorisedOperation { operation, fx, signers } = authorised;
        let operations = vec![operation];
        let unsigned = |base| UnsignedTx::Operation(OperationTx { base, operations });
        self.sign(keys, unsigned, vec![(fx, signers)])
    }

    /// Signs: the inputs' credentials, then those of operations or imported inputs.
    fn sign(
        mut self,
        keys: &Keychain,
        unsigned: impl FnOnce(BaseTx) -> UnsignedTx,
        others: Vec<(FxKind, Vec<ShortId>)>,
    ) -> Tx {
        TransferableOutput::sort(&mut self.base.outputs);
        let inputs = self.signers.into_iter().map(|who| (FxKind::Secp256k1, who));
        let signers: Vec<(FxKind, Vec<ShortId>)> = inputs.chain(others).collect();
        Tx::sign_by(unsigned(self.base), keys, &signers)
    }
}
