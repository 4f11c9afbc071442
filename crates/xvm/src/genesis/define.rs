//! Descriptions of a genesis' assets, as `buildGenesis` and network files give them.

use esker_primitives::ids::{ChainId, ShortId};
use esker_transactions::xvm::{BaseTx, CreateAssetTx, InitialState};
use esker_utxo::{FxKind, NftMintOutput, Output, OutputOwners, TransferOutput};

use super::{Genesis, GenesisAsset};

/// Greatest length of a genesis asset's symbol, in characters; it may also be empty.
pub const MAX_SYMBOL_LEN: usize = 4;
/// Greatest length of a string in the codec, in bytes.
const MAX_STRING_LEN: usize = 65_535;

/// The description of an asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetDefinition {
    /// Names the asset on its chain.
    pub alias: String,
    /// Displayed name.
    pub name: String,
    /// Displayed symbol, at most [`MAX_SYMBOL_LEN`] characters.
    pub symbol: String,
    /// Decimal places of the displayed unit.
    pub denomination: u8,
    /// Anything.
    pub memo: Vec<u8>,
    /// Amounts that exist from the beginning. `Some` of an empty list still lets the asset have amounts.
    pub fixed_cap: Option<Vec<Holder>>,
    /// Who may mint amounts.
    pub variable_cap: Option<Vec<Minters>>,
    /// Who may mint NFTs, one group for each entry, numbered from 0.
    pub non_fungible: Option<Vec<Minters>>,
    /// Who may mint properties, which can be held and burned, not transferred.
    pub limited_transfer: Option<Vec<Minters>>,
}

/// An amount and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// In the asset's smallest unit.
    pub amount: u64,
    /// The owner.
    pub address: ShortId,
}

/// Who may mint: `threshold` of `minters`, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minters {
    /// Signatures needed.
    pub threshold: u32,
    /// Those who may sign.
    pub minters: Vec<ShortId>,
}

/// The reason why a description does not give a genesis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A symbol is longer than [`MAX_SYMBOL_LEN`].
    #[error("symbol is too long, maximum size is 4")]
    SymbolTooLong,
    /// An alias or a name is longer than the codec can carry.
    #[error("problem marshaling genesis: input does not match expected format")]
    StringTooLong,
}

/// The genesis of the described assets. Of several definitions with one alias the last one counts.
pub fn genesis(
    network_id: u32,
    definitions: impl IntoIterator<Item = AssetDefinition>,
) -> Result<Genesis, DefinitionError> {
    let mut assets = definitions
        .into_iter()
        .map(|definition| asset(network_id, definition))
        .collect::<Result<Vec<_>, _>>()?;
    assets.reverse();
    assets.sort_by(|a, b| a.alias.cmp(&b.alias));
    assets.dedup_by(|later, kept| later.alias == kept.alias);
    Ok(Genesis { assets })
}

fn asset(network_id: u32, definition: AssetDefinition) -> Result<GenesisAsset, DefinitionError> {
    let states = states(&definition);
    let AssetDefinition { alias, name, symbol, denomination, memo, .. } = definition;
    if symbol.chars().count() > MAX_SYMBOL_LEN {
        return Err(DefinitionError::SymbolTooLong);
    }
    if alias.len() > MAX_STRING_LEN || name.len() > MAX_STRING_LEN {
        return Err(DefinitionError::StringTooLong);
    }
    let blockchain_id = ChainId::ZERO;
    let base = BaseTx { network_id, blockchain_id, outputs: vec![], inputs: vec![], memo };
    let (name, symbol) = (name.into_bytes(), symbol.into_bytes());
    let tx = CreateAssetTx { base, name, symbol, denomination, states };
    Ok(GenesisAsset { alias: alias.into_bytes(), tx })
}

/// One state for each extension that the definition names, even if with an empty list.
fn states(definition: &AssetDefinition) -> Vec<InitialState> {
    let fixed = definition.fixed_cap.as_ref();
    let variable = definition.variable_cap.as_ref();
    let mut amounts = (fixed.is_some() || variable.is_some()).then(Vec::new);
    if let Some(outputs) = &mut amounts {
        outputs.extend(fixed.into_iter().flatten().map(holding));
        outputs.extend(variable.into_iter().flatten().map(|m| Output::SecpMint(owners(m))));
    }
    let nfts = definition.non_fungible.as_ref().map(|sets| {
        let mint =
            |(group_id, set)| Output::NftMint(NftMintOutput { group_id, owners: owners(set) });
        (0..).zip(sets).map(mint).collect()
    });
    let properties = definition
        .limited_transfer
        .as_ref()
        .map(|sets| sets.iter().map(|set| Output::PropertyMint(owners(set))).collect());
    FxKind::ALL.into_iter().zip([amounts, nfts, properties]).filter_map(state).collect()
}

fn state((fx, outputs): (FxKind, Option<Vec<Output>>)) -> Option<InitialState> {
    let mut outputs = outputs?;
    outputs.sort_by(Output::cmp_encoded);
    Some(InitialState { fx_index: fx.index(), outputs })
}

fn holding(holder: &Holder) -> Output {
    let owners = OutputOwners::single(holder.address);
    Output::SecpTransfer(TransferOutput { amount: holder.amount, owners })
}

fn owners(set: &Minters) -> OutputOwners {
    let mut addresses = set.minters.clone();
    addresses.sort_unstable();
    OutputOwners { locktime: 0, threshold: set.threshold, addresses }
}
