//! Unspent outputs and assets of another network's chain that this chain has from its beginning on, under their own IDs
//! (docs/forking.md, "An X-Chain").

use std::collections::HashSet;

use esker_primitives::codec::{CodecError, Decode, Encode, MAX_GENESIS_SIZE, Reader, Writer};
use esker_primitives::{AssetId, ShortId, TxId};
use esker_storage::{KvRead, KvWrite, Scope, StorageError, StorageResult};
use esker_transactions::xvm::{CreateAssetTx, Tx, UnsignedTx};
use esker_utxo::Utxo;

use crate::execute::{add_utxo, asset_record};
use crate::state::tables::{ASSETS, TAKEN_OVER, TXS, TxRecord};
use crate::verify::syntactic::Params;

/// What a chain took over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Takeover {
    /// Where it is from.
    pub origin: TakeoverOrigin,
    /// The transactions that create the assets, in the order of their IDs.
    pub assets: Vec<Tx>,
    /// The outputs, in the order of their IDs. The other network's native asset is this one's.
    pub utxos: Vec<Utxo>,
}

/// The other network's chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakeoverOrigin {
    /// URL of the node that was asked, without secrets.
    pub url: String,
    /// ID of the other network.
    pub network_id: u32,
    /// Its native asset, whose amounts are the native asset's here.
    pub native_asset_id: AssetId,
    /// Height of the chain at the time.
    pub height: u64,
    /// The addresses whose outputs these are, ascending.
    pub addresses: Vec<ShortId>,
}

impl Takeover {
    /// What the chain of this scope took over.
    ///
    /// # Errors
    /// The record is damaged, or the store can't be read.
    pub fn stored(reader: &dyn KvRead, scope: Scope) -> StorageResult<Option<Self>> {
        let Some(bytes) = TAKEN_OVER.get(reader, scope, &())? else { return Ok(None) };
        let read = Self::from_versioned_bytes(&bytes, bytes.len());
        let damaged = |_| StorageError::Corrupted("the record of what was taken over".to_owned());
        read.map(Some).map_err(damaged)
    }

    /// The description of each asset.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (TxId, &CreateAssetTx)> {
        self.assets.iter().filter_map(|tx| match tx.unsigned() {
            UnsignedTx::CreateAsset(asset) => Some((tx.id(), asset)),
            UnsignedTx::Base(_)
            | UnsignedTx::Operation(_)
            | UnsignedTx::Import(_)
            | UnsignedTx::Export(_) => None,
        })
    }

    /// The other chain's transactions that made the outputs and the assets. The same transaction may not be accepted here:
    /// it would make the outputs once more.
    pub(crate) fn tx_ids(&self) -> HashSet<TxId> {
        let made = self.utxos.iter().map(|utxo| utxo.utxo_id.tx_id);
        made.chain(self.assets.iter().map(Tx::id)).collect()
    }

    /// Writes the rows with which the chain begins.
    pub(crate) fn write(&self, out: &mut impl KvWrite, scope: Scope, params: &Params) {
        for tx in &self.assets {
            TXS.put(out, scope, &tx.id(), &TxRecord::Inline(tx.bytes().to_vec()));
        }
        for (id, asset) in self.descriptions() {
            ASSETS.put(out, scope, &id, &asset_record(asset));
        }
        for utxo in &self.utxos {
            add_utxo(out, scope, &params.fee_asset_id, utxo);
        }
        TAKEN_OVER.put_bytes(out, scope, &(), &self.to_versioned_bytes());
    }
}

impl Encode for Takeover {
    fn encode(&self, w: &mut Writer) {
        let TakeoverOrigin { url, network_id, native_asset_id, height, addresses } = &self.origin;
        w.bytes(url.as_bytes());
        w.u32(*network_id);
        w.id(native_asset_id);
        w.u64(*height);
        w.len(addresses.len());
        addresses.iter().for_each(|address| w.short_id(address));
        w.len(self.assets.len());
        self.assets.iter().for_each(|tx| w.bytes(tx.bytes()));
        w.values(&self.utxos);
    }
}

impl Decode for Takeover {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let url = String::from_utf8_lossy(r.bytes()?).into_owned();
        let (network_id, native_asset_id, height) = (r.u32()?, r.id()?, r.u64()?);
        let addresses = r.slice(Reader::short_id)?;
        let origin = TakeoverOrigin { url, network_id, native_asset_id, height, addresses };
        let assets = r.slice(|r| Tx::from_versioned_bytes(r.bytes()?, MAX_GENESIS_SIZE))?;
        Ok(Self { origin, assets, utxos: r.values()? })
    }
}
