//! Names of assets: aliases of the genesis, native aliases of the node, IDs.

use std::collections::HashMap;

use esker_primitives::AssetId;
use esker_transactions::xvm::Tx;

use crate::execute::asset_record;
use crate::genesis::Genesis;
use crate::verify::semantic::FxBits;

/// The assets of a chain's genesis, kept in memory.
#[derive(Debug)]
pub struct GenesisAssets {
    by_alias: HashMap<Vec<u8>, AssetId>,
    /// The first alias of each.
    aliases: HashMap<AssetId, String>,
    native_aliases: Vec<String>,
    native_asset_id: AssetId,
    fx_bits: FxBits,
}

impl GenesisAssets {
    /// `txs` are the creating transactions of the genesis' assets, in order; `native_aliases` stand for
    /// `native_asset_id` where the genesis gives them to no asset of its own.
    pub(crate) fn new(
        genesis: &Genesis,
        txs: &[Tx],
        native_aliases: &[String],
        native_asset_id: AssetId,
    ) -> Self {
        let mut assets = Self {
            by_alias: HashMap::new(),
            aliases: HashMap::new(),
            native_aliases: native_aliases.to_vec(),
            native_asset_id,
            fx_bits: FxBits::new(),
        };
        for (asset, tx) in genesis.assets.iter().zip(txs) {
            let id = tx.id();
            assets.by_alias.insert(asset.alias.clone(), id);
            let alias = String::from_utf8_lossy(&asset.alias).into_owned();
            assets.aliases.entry(id).or_insert(alias);
            assets.fx_bits.insert(id, asset_record(&asset.tx).fx_bits);
        }
        assets
    }

    /// The asset that a text names: a genesis alias, a native alias (docs/decisions.md, "Native asset aliases"), or
    /// an ID. Whether an asset of that ID exists is not looked at.
    pub fn lookup(&self, text: &str) -> Option<AssetId> {
        if let Some(id) = self.by_alias.get(text.as_bytes()) {
            return Some(*id);
        }
        if self.native_aliases.iter().any(|alias| alias == text) {
            return Some(self.native_asset_id);
        }
        text.parse().ok()
    }

    /// The genesis' alias of an asset: the one shown instead of the ID.
    pub fn alias(&self, id: &AssetId) -> Option<&str> {
        self.aliases.get(id).map(String::as_str)
    }

    pub(crate) const fn fx_bits(&self) -> &FxBits {
        &self.fx_bits
    }
}
