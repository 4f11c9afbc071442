//! Building and signing each type of transaction.

use std::collections::BTreeMap;

use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, ChainId, ShortId};
use esker_transactions::xvm::{
    BaseTx, CreateAssetTx, ExportTx, ImportTx, InitialState, Operation, OperationTx, Tx, UnsignedTx,
};
use esker_utxo::{
    FxKind, FxOperation, Keychain, NftMintOperation, NftTransferOperation, NftTransferOutput,
    Output, OutputOwners, PropertyMintOperation, SecpMintOperation, SigningOwners, TransferOutput,
    TransferableInput, TransferableOutput, Utxo, UtxoId,
};

use super::coins::{Chosen, Coins, Signed, transfer_input};
use super::{ChainParams, MAX_FEE, WalletError};

/// Keys, coins and the chain that they are of.
#[derive(Clone, Debug)]
pub struct Wallet {
    params: ChainParams,
    keys: Keychain,
    owner: ShortId,
    coins: Coins,
    now_s: u64,
    max_fee: u64,
}

impl Wallet {
    /// A wallet of one or more keys, without coins. Change goes to the first key's address.
    ///
    /// `now_s` (Unix seconds) decides which locked coins can be spent.
    pub fn new(
        params: ChainParams,
        first: PrivateKey,
        others: Vec<PrivateKey>,
        now_s: u64,
    ) -> Self {
        let owner = first.address();
        let keys = std::iter::once(first).chain(others).collect();
        Self { params, keys, owner, coins: Coins::default(), now_s, max_fee: MAX_FEE }
    }

    /// Pays fees up to `units` of the fee asset, instead of up to [`MAX_FEE`].
    pub fn with_max_fee(mut self, units: u64) -> Self {
        self.max_fee = units;
        self
    }

    /// The chain.
    pub fn params(&self) -> &ChainParams {
        &self.params
    }

    /// The address of the first key.
    pub fn owner(&self) -> ShortId {
        self.owner
    }

    /// Its text on this chain.
    pub fn address(&self) -> String {
        self.params.address(&self.owner)
    }

    /// All addresses, ascending by their bytes.
    pub fn addresses(&self) -> impl Iterator<Item = &ShortId> {
        self.keys.addresses()
    }

    /// The known UTXOs.
    pub fn coins(&self) -> &Coins {
        &self.coins
    }

    /// Adds UTXOs.
    pub fn add_utxos(&mut self, utxos: impl IntoIterator<Item = Utxo>) {
        self.coins.add(utxos);
    }

    /// Units of an asset that can be spent now; saturates.
    pub fn balance(&self, asset: &AssetId) -> u64 {
        self.coins
            .iter()
            .filter(|utxo| utxo.asset_id == *asset)
            .filter(|utxo| self.keys.signing_owners(utxo.output.owners(), self.now_s).is_some())
            .filter_map(|utxo| utxo.output.as_transfer())
            .fold(0, |sum: u64, output| sum.saturating_add(output.amount))
    }

    /// Applies a transaction as if it were accepted: removes its inputs and adds the outputs that name one of the keys.
    pub fn apply(&mut self, tx: &Tx) {
        for id in tx.unsigned().local_utxo_ids() {
            self.coins.remove(&id);
        }
        let keys = &self.keys;
        let ours = |utxo: &Utxo| utxo.output.owners().addresses.iter().any(|a| keys.contains(a));
        self.coins.add(tx.produced_utxos().filter(ours).collect::<Vec<_>>());
    }

    /// An output of `amount` units for one address.
    pub fn output(asset_id: AssetId, amount: u64, to: ShortId) -> TransferableOutput {
        let output = TransferOutput { amount, owners: OutputOwners::single(to) };
        TransferableOutput { asset_id, output }
    }

    /// Moves amounts.
    pub fn base_tx(
        &self,
        outputs: Vec<TransferableOutput>,
        memo: &[u8],
    ) -> Result<Tx, WalletError> {
        let (base, signed) = self.pay(self.params.tx_fee, outputs, &[], memo)?;
        Ok(self.sign(UnsignedTx::Base(base), signed, Vec::new()))
    }

    /// Creates an asset with those first outputs.
    pub fn create_asset(
        &self,
        name: &str,
        symbol: &str,
        denomination: u8,
        mut states: Vec<InitialState>,
    ) -> Result<Tx, WalletError> {
        for state in &mut states {
            state.outputs.sort_by(Output::cmp_encoded);
        }
        states.sort_by_key(|state| state.fx_index);
        let (base, signed) = self.pay(self.params.create_asset_fee, Vec::new(), &[], b"")?;
        let unsigned = UnsignedTx::CreateAsset(CreateAssetTx {
            base,
            name: name.as_bytes().to_vec(),
            symbol: symbol.as_bytes().to_vec(),
            denomination,
            states,
        });
        Ok(self.sign(unsigned, signed, Vec::new()))
    }

    /// Mints `amount` units of an asset to `to`, with a mint output that the keys can use.
    pub fn mint(&self, asset: AssetId, amount: u64, to: ShortId) -> Result<Tx, WalletError> {
        let (utxo, mint_input, owners) =
            self.coins.find(asset, &self.keys, self.now_s, |output| {
                if let Output::SecpMint(owners) = output { Some(owners) } else { None }
            })?;
        self.operate(utxo, mint_input, |mint_input| {
            FxOperation::SecpMint(SecpMintOperation {
                mint_input,
                mint_output: owners.clone(),
                transfer_output: TransferOutput { amount, owners: OutputOwners::single(to) },
            })
        })
    }

    /// Mints one NFT with a payload for each of the owners; this uses up the mint output.
    pub fn mint_nft(
        &self,
        asset: AssetId,
        payload: &[u8],
        to: Vec<OutputOwners>,
    ) -> Result<Tx, WalletError> {
        let (utxo, mint_input, group_id) =
            self.coins.find(asset, &self.keys, self.now_s, |output| {
                if let Output::NftMint(mint) = output { Some(mint.group_id) } else { None }
            })?;
        self.operate(utxo, mint_input, |mint_input| {
            let payload = payload.to_vec();
            let outputs = to.clone();
            FxOperation::NftMint(NftMintOperation { mint_input, group_id, payload, outputs })
        })
    }

    /// Transfers an NFT of a group to another owner.
    pub fn send_nft(&self, asset: AssetId, group: u32, to: ShortId) -> Result<Tx, WalletError> {
        let (utxo, input, nft) = self.coins.find(asset, &self.keys, self.now_s, |output| {
            if let Output::NftTransfer(nft) = output
                && nft.group_id == group
            {
                Some(nft)
            } else {
                None
            }
        })?;
        self.operate(utxo, input, |input| {
            let owners = OutputOwners::single(to);
            let payload = nft.payload.clone();
            let output = NftTransferOutput { group_id: group, payload, owners };
            FxOperation::NftTransfer(NftTransferOperation { input, output })
        })
    }

    /// Mints a property for `to`.
    pub fn mint_property(&self, asset: AssetId, to: ShortId) -> Result<Tx, WalletError> {
        let (utxo, mint_input, owners) =
            self.coins.find(asset, &self.keys, self.now_s, |output| {
                if let Output::PropertyMint(owners) = output { Some(owners) } else { None }
            })?;
        self.operate(utxo, mint_input, |mint_input| {
            FxOperation::PropertyMint(PropertyMintOperation {
                mint_input,
                mint_output: owners.clone(),
                owned_output: OutputOwners::single(to),
            })
        })
    }

    /// Burns a property.
    pub fn burn_property(&self, asset: AssetId) -> Result<Tx, WalletError> {
        let (utxo, input, ()) = self.coins.find(asset, &self.keys, self.now_s, |output| {
            matches!(output, Output::PropertyOwned(_)).then_some(())
        })?;
        self.operate(utxo, input, FxOperation::PropertyBurn)
    }

    /// Exports amounts to another chain.
    pub fn export(
        &self,
        destination_chain: ChainId,
        mut exported_outputs: Vec<TransferableOutput>,
    ) -> Result<Tx, WalletError> {
        exported_outputs.sort_by(TransferableOutput::cmp_encoded);
        let (base, signed) = self.pay(self.params.tx_fee, Vec::new(), &exported_outputs, b"")?;
        let unsigned = UnsignedTx::Export(ExportTx { base, destination_chain, exported_outputs });
        Ok(self.sign(unsigned, signed, Vec::new()))
    }

    /// Imports all amounts among `utxos` that the keys can spend, to `to`. The fee comes out of what is imported of
    /// the fee asset, the rest of it from the wallet's own coins.
    pub fn import(
        &self,
        source_chain: ChainId,
        utxos: &[Utxo],
        to: ShortId,
    ) -> Result<Tx, WalletError> {
        let mut imported: Vec<Signed<TransferableInput>> = utxos
            .iter()
            .filter_map(|utxo| {
                let amount = utxo.output.as_transfer()?.amount;
                let signing = self.keys.signing_owners(utxo.output.owners(), self.now_s)?;
                Some(transfer_input(utxo, amount, signing))
            })
            .collect();
        if imported.is_empty() {
            return Err(WalletError::NothingToImport);
        }
        imported.sort_by_key(|(input, _)| input.utxo_id);
        let mut totals: BTreeMap<AssetId, u64> = BTreeMap::new();
        for (input, _) in &imported {
            add(&mut totals, input.asset_id, input.input.amount)?;
        }
        let own = totals.get(&self.params.fee_asset_id).copied().unwrap_or_default();
        let tx_fee = self.bounded(self.params.tx_fee)?;
        let fee_from_imported = own.min(tx_fee);
        totals.insert(self.params.fee_asset_id, own.saturating_sub(fee_from_imported));
        let outputs: Vec<TransferableOutput> = totals
            .into_iter()
            .filter(|(_, amount)| *amount > 0)
            .map(|(asset, amount)| Self::output(asset, amount, to))
            .collect();
        let fee = tx_fee.saturating_sub(fee_from_imported);
        let (mut base, signed) = self.pay(fee, Vec::new(), &[], b"")?;
        base.outputs.extend(outputs);
        base.outputs.sort_by(TransferableOutput::cmp_encoded);
        let (imported_inputs, importers): (Vec<_>, Vec<_>) = imported.into_iter().unzip();
        let unsigned = UnsignedTx::Import(ImportTx { base, source_chain, imported_inputs });
        let importers = importers.into_iter().map(|who| (FxKind::Secp256k1, who)).collect();
        Ok(self.sign(unsigned, signed, importers))
    }

    /// The fee, if the wallet pays that much.
    fn bounded(&self, fee: u64) -> Result<u64, WalletError> {
        if fee > self.max_fee {
            return Err(WalletError::Fee { fee, max: self.max_fee });
        }
        Ok(fee)
    }

    /// Fields of the base: coins for `outputs`, for `elsewhere` (exported outputs) and the fee, change; and who
    /// signs each input.
    fn pay(
        &self,
        fee: u64,
        mut outputs: Vec<TransferableOutput>,
        elsewhere: &[TransferableOutput],
        memo: &[u8],
    ) -> Result<(BaseTx, Vec<Vec<ShortId>>), WalletError> {
        let mut wanted = BTreeMap::new();
        add(&mut wanted, self.params.fee_asset_id, self.bounded(fee)?)?;
        for output in outputs.iter().chain(elsewhere) {
            add(&mut wanted, output.asset_id, output.output.amount)?;
        }
        let Chosen { mut inputs, change } = self.coins.choose(&wanted, &self.keys, self.now_s)?;
        inputs.sort_by_key(|(input, _)| input.utxo_id);
        let change = change.into_iter().filter(|(_, amount)| *amount > 0);
        outputs.extend(change.map(|(asset, amount)| Self::output(asset, amount, self.owner)));
        outputs.sort_by(TransferableOutput::cmp_encoded);
        let (inputs, signers) = inputs.into_iter().unzip();
        let base = BaseTx {
            network_id: self.params.network_id,
            blockchain_id: self.params.chain_id,
            outputs,
            inputs,
            memo: memo.to_vec(),
        };
        Ok((base, signers))
    }

    /// A transaction of one operation on one UTXO; `op` gets the signers' indices.
    fn operate(
        &self,
        utxo: &Utxo,
        signing: SigningOwners,
        op: impl FnOnce(Vec<u32>) -> FxOperation,
    ) -> Result<Tx, WalletError> {
        let op = op(signing.indices);
        let fx = op.fx();
        let utxo_ids: Vec<UtxoId> = vec![utxo.utxo_id];
        let (base, signed) = self.pay(self.params.tx_fee, Vec::new(), &[], b"")?;
        let operations = vec![Operation { asset_id: utxo.asset_id, utxo_ids, op }];
        let unsigned = UnsignedTx::Operation(OperationTx { base, operations });
        Ok(self.sign(unsigned, signed, vec![(fx, signing.addresses)]))
    }

    /// Signs: the inputs' credentials, then those of operations or imported inputs.
    fn sign(
        &self,
        unsigned: UnsignedTx,
        inputs: Vec<Vec<ShortId>>,
        others: Vec<(FxKind, Vec<ShortId>)>,
    ) -> Tx {
        let inputs = inputs.into_iter().map(|who| (FxKind::Secp256k1, who));
        let keys_of = |who: Vec<ShortId>| who.iter().filter_map(|a| self.keys.get(a)).collect();
        let signers: Vec<(FxKind, Vec<&PrivateKey>)> =
            inputs.chain(others).map(|(fx, who)| (fx, keys_of(who))).collect();
        Tx::sign(unsigned, &signers)
    }
}

/// Adds to the sum of an asset.
fn add(sums: &mut BTreeMap<AssetId, u64>, asset: AssetId, amount: u64) -> Result<(), WalletError> {
    let sum = sums.entry(asset).or_default();
    *sum = sum.checked_add(amount).ok_or(WalletError::Overflow)?;
    Ok(())
}
