//! getUTXOs.

use std::collections::BTreeSet;

use esker_primitives::{ChainId, Id, ShortId};
use esker_rpc::wire::{CappedLimit, Encoding, JsonU64};
use esker_services::listing::{PageTexts, UtxoIndex, check_number, source_chain};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reply, ServiceError, format_address, parse_address};
use crate::chain::Xvm;
use crate::state::{MAX_UTXO_PAGE, PageEnd, PageStart};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UtxosArgs {
    addresses: Vec<String>,
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
    /// As given; not there where it was not.
    #[serde(skip_serializing_if = "String::is_empty")]
    source_chain: String,
    encoding: Encoding,
}

/// One page of the UTXOs of some addresses: the chain's own, or those that another chain exported to it.
pub(super) fn get_utxos(vm: &Xvm, args: UtxosArgs) -> Reply<UtxosReply> {
    check_number(args.addresses.len())?;
    let source = parse_source(vm, &args.source_chain)?;
    let addresses = parse_all(vm, &args.addresses)?;
    let start = parse_start(vm, &args.start_index)?;
    let (utxos, end) = page(vm, source, &addresses, start, args.limit, args.encoding)?;
    Ok(UtxosReply {
        num_fetched: JsonU64(u64::try_from(utxos.len()).unwrap_or(u64::MAX)),
        utxos,
        end_index: UtxoIndex::new(format_address(vm, &end.address), &end.utxo_id),
        source_chain: args.source_chain,
        encoding: args.encoding,
    })
}

fn page(
    vm: &Xvm,
    source: Option<ChainId>,
    addresses: &BTreeSet<ShortId>,
    start: Option<PageStart>,
    limit: CappedLimit,
    encoding: Encoding,
) -> Reply<(Vec<String>, PageEnd)> {
    let limit = limit.at_most(MAX_UTXO_PAGE);
    let mut texts = PageTexts::new(encoding);
    let mut add = |id: &Id, bytes: &[u8]| texts.add(id, bytes);
    let view = vm.view()?;
    let end = match &source {
        Some(source) => view.visit_atomic_utxos(source, addresses, start, limit, &mut add)?,
        None => view.visit_utxos(addresses, start, limit, &mut add)?,
    };
    let utxos = texts.finish().map_err(|(id, cause)| ServiceError::EncodeUtxo { id, cause })?;
    Ok((utxos, end))
}

/// The chain that exported; none for this chain itself.
fn parse_source(vm: &Xvm, text: &str) -> Reply<Option<ChainId>> {
    if text.is_empty() {
        return Ok(None);
    }
    let context = vm.context();
    let chain = source_chain(context.aliases.as_ref(), text)?;
    Ok((chain != context.chain_id).then_some(chain))
}

fn parse_all(vm: &Xvm, texts: &[String]) -> Reply<BTreeSet<ShortId>> {
    texts.iter().map(|text| Ok(parse_address(vm, text)?)).collect()
}

fn parse_start(vm: &Xvm, index: &UtxoIndex) -> Reply<Option<PageStart>> {
    let start = index.start(|text| {
        parse_address(vm, text)
            .map_err(|cause| ServiceError::StartAddress { text: text.to_owned(), cause })
    })?;
    Ok(start.map(|(address, utxo_id)| PageStart { address, utxo_id }))
}
