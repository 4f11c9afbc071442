//! UTXOs that a wallet knows of, and the choice among them.

use std::collections::BTreeMap;

use esker_primitives::{AssetId, ShortId};
use esker_utxo::{Keychain, Output, SigningOwners, TransferInput, TransferableInput, Utxo, UtxoId};

use super::WalletError;

/// Known UTXOs.
#[derive(Clone, Debug, Default)]
pub struct Coins {
    utxos: BTreeMap<UtxoId, Utxo>,
}

/// An input and the addresses that sign it, in the order of its signature indices.
pub(super) type Signed<T> = (T, Vec<ShortId>);

/// A choice of coins.
pub(super) struct Chosen {
    /// Not sorted.
    pub(super) inputs: Vec<Signed<TransferableInput>>,
    /// The change of each asset.
    pub(super) change: BTreeMap<AssetId, u64>,
}

impl Coins {
    /// Adds UTXOs; one that is known already is replaced.
    pub fn add(&mut self, utxos: impl IntoIterator<Item = Utxo>) {
        self.utxos.extend(utxos.into_iter().map(|utxo| (utxo.utxo_id, utxo)));
    }

    /// Forgets a UTXO.
    pub fn remove(&mut self, id: &UtxoId) -> Option<Utxo> {
        self.utxos.remove(id)
    }

    /// All of them, ascending by ID.
    pub fn iter(&self) -> impl Iterator<Item = &Utxo> {
        self.utxos.values()
    }

    /// The number of coins.
    pub fn len(&self) -> usize {
        self.utxos.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.utxos.is_empty()
    }

    /// Chooses coins that cover `wanted`: of each asset the largest first, equal ones by ID.
    pub(super) fn choose(
        &self,
        wanted: &BTreeMap<AssetId, u64>,
        keys: &Keychain,
        now_s: u64,
    ) -> Result<Chosen, WalletError> {
        let mut inputs = Vec::new();
        let mut change = BTreeMap::new();
        for (asset, wanted) in wanted.iter().filter(|(_, wanted)| **wanted > 0) {
            let mut coins: Vec<(u64, &Utxo, SigningOwners)> = self
                .iter()
                .filter(|utxo| utxo.asset_id == *asset)
                .filter_map(|utxo| {
                    let amount = utxo.output.as_transfer()?.amount;
                    Some((amount, utxo, keys.signing_owners(utxo.output.owners(), now_s)?))
                })
                .collect();
            coins.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.utxo_id.cmp(&b.1.utxo_id)));
            let mut got: u64 = 0;
            for (amount, utxo, signing) in coins {
                if got >= *wanted {
                    break;
                }
                got = got.checked_add(amount).ok_or(WalletError::Overflow)?;
                inputs.push(transfer_input(utxo, amount, signing));
            }
            let rest = got.checked_sub(*wanted).ok_or(WalletError::InsufficientFunds {
                asset: *asset,
                wanted: *wanted,
                available: got,
            })?;
            change.insert(*asset, rest);
        }
        Ok(Chosen { inputs, change })
    }

    /// The first UTXO of an asset whose output `pick` takes and the keys can spend, with its signers.
    pub(super) fn find<'a, T>(
        &'a self,
        asset: AssetId,
        keys: &Keychain,
        now_s: u64,
        pick: impl Fn(&'a Output) -> Option<T>,
    ) -> Result<(&'a Utxo, SigningOwners, T), WalletError> {
        self.iter()
            .filter(|utxo| utxo.asset_id == asset)
            .find_map(|utxo| {
                let picked = pick(&utxo.output)?;
                Some((utxo, keys.signing_owners(utxo.output.owners(), now_s)?, picked))
            })
            .ok_or(WalletError::NoAuthority(asset))
    }
}

/// An input that consumes an amount.
pub(super) fn transfer_input(
    utxo: &Utxo,
    amount: u64,
    signing: SigningOwners,
) -> Signed<TransferableInput> {
    let input = TransferableInput {
        utxo_id: utxo.utxo_id,
        asset_id: utxo.asset_id,
        input: TransferInput { amount, sig_indices: signing.indices },
    };
    (input, signing.addresses)
}
