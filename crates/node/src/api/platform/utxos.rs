//! UTXOs on the P-Chain, and exports of other chains to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use esker_chain::Aliases;
use esker_chain::address::{ServiceAddressError, parse_service_address};
use esker_primitives::codec::Encode as _;
use esker_primitives::{AssetId, ChainId, Id, ShortId, TxId, address, go};
use esker_rpc::RpcError;
use esker_rpc::wire::{CappedLimit, Encoding, JsonU64};
use esker_services::listing::{PageTexts, UtxoIndex, check_number, source_chain};
use esker_shared_memory::{MAX_UTXO_PAGE, PageEnd, PageStart, visit_page};
use esker_utxo::Utxo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{P_CHAIN, PlatformApi};

/// The P-Chain's UTXOs, which are constant.
#[derive(Debug)]
pub(super) struct LocalUtxos {
    by_owner: BTreeMap<(ShortId, Id), Utxo>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UtxosArgs {
    addresses: Option<Vec<String>>,
    source_chain: String,
    limit: CappedLimit,
    start_index: UtxoIndex,
    encoding: Encoding,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UtxosReply {
    num_fetched: JsonU64,
    utxos: Vec<String>,
    end_index: UtxoIndex,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct BalanceArgs {
    addresses: Option<Vec<String>>,
}

/// Sums by asset.
type Sums = BTreeMap<String, JsonU64>;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BalanceReply {
    balance: JsonU64,
    unlocked: JsonU64,
    locked_stakeable: JsonU64,
    locked_not_stakeable: JsonU64,
    balances: Sums,
    unlockeds: Sums,
    locked_stakeables: Sums,
    locked_not_stakeables: Sums,
    /// `null` if empty.
    #[serde(rename = "utxoIDs")]
    utxo_ids: Option<Vec<ShownUtxoId>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownUtxoId {
    #[serde(rename = "txID")]
    tx_id: TxId,
    output_index: u32,
}

impl LocalUtxos {
    pub(super) fn new(utxos: &[Utxo]) -> Self {
        let rows = utxos.iter().flat_map(|utxo| {
            let id = utxo.utxo_id.input_id();
            let owners = utxo.output.owners().addresses.iter();
            owners.map(move |owner| ((*owner, id), utxo.clone()))
        });
        Self { by_owner: rows.collect() }
    }

    /// The UTXOs of these addresses after `start`, by address and then by ID. A UTXO with several owners is listed
    /// under its lowest requested owner.
    fn visit_page(
        &self,
        addresses: &BTreeSet<ShortId>,
        start: Option<PageStart>,
        limit: usize,
        visit: &mut dyn FnMut(&Id, &[u8]),
    ) -> PageEnd {
        let mut end = PageEnd::empty(addresses, start);
        for (place, utxo) in addresses.iter().flat_map(|address| self.owned_by(address, start)) {
            if end.count >= limit {
                break;
            }
            let owners = utxo.output.owners().addresses.iter();
            let lowest = owners.filter(|owner| addresses.contains(owner)).min();
            if lowest == Some(&place.address) {
                visit(&place.utxo_id, &utxo.to_versioned_bytes());
                let PageStart { address, utxo_id } = place;
                end = PageEnd { count: end.count + 1, address, utxo_id };
            }
        }
        end
    }

    fn owned_by(
        &self,
        address: &ShortId,
        start: Option<PageStart>,
    ) -> impl Iterator<Item = (PageStart, &Utxo)> {
        let address = *address;
        let from = match start {
            // Skips lower addresses: their ranges are empty.
            Some(start) if start.address > address => {
                Bound::Excluded((address, Id::new([0xff; 32])))
            }
            Some(start) if start.address == address => Bound::Excluded((address, start.utxo_id)),
            _ => Bound::Included((address, Id::ZERO)),
        };
        let to = Bound::Included((address, Id::new([0xff; 32])));
        // A range that excludes and includes the same key is empty, and allowed.
        self.by_owner.range((from, to)).map(|((address, utxo_id), utxo)| {
            (PageStart { address: *address, utxo_id: *utxo_id }, utxo)
        })
    }
}

impl PlatformApi {
    pub(super) fn get_utxos(&self, args: UtxosArgs) -> Result<UtxosReply, RpcError> {
        let given = args.addresses.unwrap_or_default();
        check_number(given.len())?;
        let source = self.source(&args.source_chain)?;
        let addresses = self.parse_addresses(&given)?;
        let start = self.start(&args.start_index)?;
        let limit = args.limit.at_most(MAX_UTXO_PAGE);
        let mut texts = PageTexts::new(args.encoding);
        let mut add = |id: &Id, bytes: &[u8]| texts.add(id, bytes);
        let end = match &source {
            None => self.local.visit_page(&addresses, start, limit, &mut add),
            Some(source) => self.visit_exported(source, &addresses, start, limit, &mut add)?,
        };
        let utxos = texts.finish().map_err(|(id, cause)| {
            RpcError::new(format!("couldn't encode UTXO {id} as string: {cause}"))
        })?;
        Ok(UtxosReply {
            num_fetched: JsonU64(utxos.len() as u64),
            utxos,
            end_index: UtxoIndex::new(self.format_address(&end.address), &end.utxo_id),
            encoding: args.encoding,
        })
    }

    pub(super) fn get_balance(&self, args: BalanceArgs) -> Result<BalanceReply, RpcError> {
        let addresses = self.parse_addresses(&args.addresses.unwrap_or_default())?;
        let now = self.clock.now_s();
        let (mut all, mut free, mut locked) = (Sums::new(), Sums::new(), Sums::new());
        let mut ids = Vec::new();
        let mut seen = BTreeSet::new();
        for (place, utxo) in addresses.iter().flat_map(|address| self.local.owned_by(address, None))
        {
            if !seen.insert(place.utxo_id) {
                continue;
            }
            let Some(output) = utxo.output.as_transfer() else { continue };
            let state = if output.owners.locktime <= now { &mut free } else { &mut locked };
            add(&mut all, &utxo.asset_id, output.amount);
            add(state, &utxo.asset_id, output.amount);
            ids.push(ShownUtxoId {
                tx_id: utxo.utxo_id.tx_id,
                output_index: utxo.utxo_id.output_index,
            });
        }
        let native = self.network.native_asset_id.to_string();
        let of_native = |sums: &Sums| sums.get(&native).copied().unwrap_or_default();
        Ok(BalanceReply {
            balance: of_native(&all),
            unlocked: of_native(&free),
            // Network files can't declare outputs that are stakeable while locked.
            locked_stakeable: JsonU64(0),
            locked_not_stakeable: of_native(&locked),
            balances: all,
            unlockeds: free,
            locked_stakeables: Sums::new(),
            locked_not_stakeables: locked,
            utxo_ids: (!ids.is_empty()).then_some(ids),
        })
    }

    fn visit_exported(
        &self,
        source: &ChainId,
        addresses: &BTreeSet<ShortId>,
        start: Option<PageStart>,
        limit: usize,
        visit: &mut dyn FnMut(&Id, &[u8]),
    ) -> Result<PageEnd, RpcError> {
        let end = self.store.snapshot().and_then(|reader| {
            visit_page(reader.as_ref(), (&P_CHAIN, source), addresses, start, limit, visit)
        });
        end.map_err(|error| {
            tracing::error!(%error, "a method failed because of the store");
            refused(error)
        })
    }

    /// The exporting chain; `None` for the P-Chain itself.
    fn source(&self, text: &str) -> Result<Option<ChainId>, RpcError> {
        if text.is_empty() {
            return Ok(None);
        }
        let chain = source_chain(self.aliases.as_ref(), text)?;
        Ok((chain != P_CHAIN).then_some(chain))
    }

    fn parse_addresses(&self, texts: &[String]) -> Result<BTreeSet<ShortId>, RpcError> {
        texts.iter().map(|text| self.parse_address(text).map_err(refused)).collect()
    }

    fn parse_address(&self, text: &str) -> Result<ShortId, ServiceAddressError> {
        parse_service_address(self.aliases.as_ref(), &P_CHAIN, &self.network.hrp, text)
    }

    fn format_address(&self, owner: &ShortId) -> String {
        let alias = self.aliases.primary_alias(&P_CHAIN).unwrap_or_else(|| P_CHAIN.to_string());
        address::format(&alias, &self.network.hrp, owner)
    }

    fn start(&self, index: &UtxoIndex) -> Result<Option<PageStart>, RpcError> {
        let start = index.start(|text| {
            self.parse_address(text).map_err(|cause| {
                let quoted = go::quote(text);
                RpcError::new(format!("couldn't parse start index address {quoted}: {cause}"))
            })
        })?;
        Ok(start.map(|(address, utxo_id)| PageStart { address, utxo_id }))
    }
}

fn refused(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(error.to_string())
}

/// Sums saturate, like the reference's.
fn add(sums: &mut Sums, asset: &AssetId, amount: u64) {
    let sum = sums.entry(asset.to_string()).or_default();
    *sum = JsonU64(sum.0.saturating_add(amount));
}
