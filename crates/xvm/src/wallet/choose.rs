//! Chooses the coins of a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use esker_primitives::{AssetId, ShortId};
use esker_storage::StorageResult;
use esker_utxo::{Keychain, SigningOwners, TransferInput, TransferableInput, Utxo};

use super::coins::decode;
use super::{Coins, SpendError};
use crate::state::raw::RawUtxo;

/// Units by asset.
pub type Amounts = BTreeMap<AssetId, u64>;

/// Coins that are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Inputs, each with the addresses that sign it; sorted as a transaction has them.
    pub inputs: Vec<(TransferableInput, Vec<ShortId>)>,
    /// The sum of the chosen coins.
    pub taken: Amounts,
}

impl Chosen {
    /// Takes a coin, unless the sum of its asset would exceed 64 bits.
    fn take(&mut self, utxo: &Utxo, amount: u64, signing: SigningOwners) -> Option<u64> {
        let taken = self.taken.entry(utxo.asset_id).or_default();
        *taken = taken.checked_add(amount)?;
        let input = TransferableInput {
            utxo_id: utxo.utxo_id,
            asset_id: utxo.asset_id,
            input: TransferInput { amount, sig_indices: signing.indices },
        };
        self.inputs.push((input, signing.addresses));
        Some(*taken)
    }

    fn sorted(mut self) -> Self {
        self.inputs.sort_by_key(|(input, _)| input.utxo_id);
        self
    }

    /// Units of an asset that are taken.
    pub fn amount(&self, asset: &AssetId) -> u64 {
        self.taken.get(asset).copied().unwrap_or_default()
    }
}

/// A coin that the keys can spend at `now_s`, with who signs.
fn spendable(
    raw: RawUtxo<'_>,
    keys: &Keychain,
    now_s: u64,
) -> StorageResult<Option<(Utxo, SigningOwners)>> {
    let utxo = decode(raw)?;
    let signing = keys.signing_owners(utxo.output.owners(), now_s);
    Ok(signing.map(|signing| (utxo, signing)))
}

/// Takes coins in their order until they cover `wanted`. A coin that would carry the sum of its asset beyond 64 bits
/// is skipped, since no transaction could hold it.
///
/// # Errors
/// The coins do not suffice; the error names the lowest such asset.
pub fn choose(
    coins: &dyn Coins,
    keys: &Keychain,
    wanted: &Amounts,
    now_s: u64,
) -> Result<Chosen, SpendError> {
    let mut chosen = Chosen::default();
    let mut lacking: BTreeSet<AssetId> = wanted.keys().copied().collect();
    lacking.retain(|asset| wanted.get(asset).is_some_and(|wanted| *wanted > 0));
    let mut too_large = BTreeSet::new();
    let mut failure = None;
    if !lacking.is_empty() {
        coins.visit(&keys.addresses().copied().collect(), &mut |raw| {
            let asset = raw.asset_id();
            let Some(amount) = raw.amount().filter(|_| lacking.contains(&asset)) else {
                return ControlFlow::Continue(());
            };
            match spendable(raw, keys, now_s) {
                Ok(None) => {}
                Ok(Some((utxo, signing))) => match chosen.take(&utxo, amount, signing) {
                    None => {
                        too_large.insert(asset);
                    }
                    Some(taken) if wanted.get(&asset).is_none_or(|wanted| taken >= *wanted) => {
                        lacking.remove(&asset);
                    }
                    Some(_) => {}
                },
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || lacking.is_empty() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
    }
    if let Some(error) = failure {
        return Err(error.into());
    }
    match lacking.first() {
        None => Ok(chosen.sorted()),
        Some(asset) if too_large.contains(asset) => Err(SpendError::SpentOverflow),
        Some(asset) => Err(SpendError::InsufficientFunds {
            asset: *asset,
            wanted: wanted.get(asset).copied().unwrap_or_default(),
            available: chosen.amount(asset),
        }),
    }
}

/// Most UTXOs that one import takes.
pub const MAX_IMPORTED: usize = 1024;

/// The limits of an import.
pub struct ImportLimits<'a> {
    /// Bytes that inputs, their credentials and the outputs for them may have together.
    pub max_bytes: usize,
    /// Whether this chain knows an asset as an amount: an import of another is invalid as a whole.
    pub takes: &'a dyn Fn(&AssetId) -> StorageResult<bool>,
}

impl std::fmt::Debug for ImportLimits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportLimits").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

/// Encoded size of an input with its credential, and of what each signer adds to them.
const INPUT_BYTES: usize = 92;
const SIGNER_BYTES: usize = 69;
/// Encoded size of an output for one address.
const OUTPUT_BYTES: usize = 80;

/// Takes every coin that the keys can spend, of all assets, up to the limits of one transaction; the rest is left for
/// the next.
pub fn choose_imports(
    coins: &dyn Coins,
    keys: &Keychain,
    limits: &ImportLimits<'_>,
    now_s: u64,
) -> StorageResult<Chosen> {
    let mut chosen = Chosen::default();
    let mut known = BTreeMap::new();
    let mut bytes: usize = 0;
    let mut take = |raw: RawUtxo<'_>| -> StorageResult<ControlFlow<()>> {
        let (asset, Some(amount)) = (raw.asset_id(), raw.amount()) else {
            return Ok(ControlFlow::Continue(()));
        };
        let takes = match known.get(&asset) {
            Some(takes) => *takes,
            None => (limits.takes)(&asset)?,
        };
        known.insert(asset, takes);
        if takes && let Some((utxo, signing)) = spendable(raw, keys, now_s)? {
            let output = if chosen.taken.contains_key(&asset) { 0 } else { OUTPUT_BYTES };
            let signers = signing.addresses.len().saturating_mul(SIGNER_BYTES);
            bytes =
                bytes.saturating_add(INPUT_BYTES).saturating_add(signers).saturating_add(output);
            if bytes > limits.max_bytes {
                return Ok(ControlFlow::Break(()));
            }
            chosen.take(&utxo, amount, signing);
        }
        Ok(match chosen.inputs.len() {
            ..MAX_IMPORTED => ControlFlow::Continue(()),
            MAX_IMPORTED.. => ControlFlow::Break(()),
        })
    };
    let mut failure = None;
    coins.visit(&keys.addresses().copied().collect(), &mut |raw| {
        take(raw).unwrap_or_else(|error| {
            failure = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failure.map_or(Ok(chosen.sorted()), Err)
}
