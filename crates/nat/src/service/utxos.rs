//! getUTXOs.

use std::collections::BTreeSet;

use esker_chain::address::parse_any_chain;
use esker_primitives::ids::{ChainId, Id, ShortId};
use esker_rpc::wire::{CappedLimit, Encoding, JsonU64};
use esker_services::listing::{PageTexts, UtxoIndex, check_number, source_chain};
use esker_shared_memory::{MAX_UTXO_PAGE, PageEnd, PageStart, visit_page};
use esker_storage::StorageResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::Addresses;
use super::error::LocalAddressError;
use super::{NatService, Reply, ServiceError};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UtxosArgs {
    addresses: Addresses,
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

/// One page of what another chain exported to some addresses.
pub(super) fn get_utxos(nat: &NatService, args: UtxosArgs) -> Reply<UtxosReply> {
    let Addresses(texts) = &args.addresses;
    check_number(texts.len())?;
    if args.source_chain.is_empty() {
        return Err(ServiceError::NoSourceChain);
    }
    let source = source_chain(nat.context().aliases.as_ref(), &args.source_chain)?;
    let addresses = texts.iter().map(|text| parse_address(nat, text));
    let addresses = addresses.collect::<Reply<BTreeSet<ShortId>>>()?;
    let start = parse_start(nat, &args.start_index)?;
    let limit = args.limit.at_most(MAX_UTXO_PAGE);
    let mut texts = PageTexts::new(args.encoding);
    let mut add = |id: &Id, bytes: &[u8]| texts.add(id, bytes);
    let end = visit(nat, source, &addresses, start, limit, &mut add)
        .map_err(ServiceError::RetrieveUtxos)?;
    let utxos = texts.finish().map_err(|(_, cause)| ServiceError::EncodeUtxo(cause))?;
    Ok(UtxosReply {
        num_fetched: JsonU64(utxos.len() as u64),
        utxos,
        end_index: UtxoIndex::new(nat.format_address(&end.address), &end.utxo_id),
        encoding: args.encoding,
    })
}

/// Visits a page of what `source` exported, in one snapshot.
pub(super) fn visit(
    nat: &NatService,
    source: ChainId,
    addresses: &BTreeSet<ShortId>,
    start: Option<PageStart>,
    limit: usize,
    visit: &mut dyn FnMut(&Id, &[u8]),
) -> StorageResult<PageEnd> {
    let context = nat.context();
    let reader = context.store.snapshot()?;
    visit_page(reader.as_ref(), (&context.chain_id, &source), addresses, start, limit, visit)
}

fn parse_address(nat: &NatService, text: &str) -> Reply<ShortId> {
    local_address(nat, text).map_err(|cause| ServiceError::Address { text: text.to_owned(), cause })
}

fn parse_start(nat: &NatService, index: &UtxoIndex) -> Reply<Option<PageStart>> {
    let start = index.start(|text| {
        local_address(nat, text)
            .map_err(|cause| ServiceError::StartAddress { text: text.to_owned(), cause })
    })?;
    Ok(start.map(|(address, utxo_id)| PageStart { address, utxo_id }))
}

/// An address of this chain, or the cb58 text of its 20 bytes.
fn local_address(nat: &NatService, text: &str) -> Result<ShortId, LocalAddressError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let context = nat.context();
    let (got, address) = parse_any_chain(context.aliases.as_ref(), &context.hrp, text)?;
    let expected = context.chain_id;
    if got == expected { Ok(address) } else { Err(LocalAddressError::OtherChain { expected, got }) }
}
