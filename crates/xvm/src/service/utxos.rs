//! getUTXOs.

use std::collections::BTreeSet;

use esker_chain::listing::{UtxoIndex, check_number, source_chain};
use esker_primitives::{ChainId, Id, ShortId};
use esker_rpc::wire::{CappedLimit, Encoding, JsonU64};
use serde::{Deserialize, Serialize};

use super::{Reply, ServiceError, format_address, parse_address};
use crate::state::{MAX_UTXO_PAGE, PageEnd, PageStart};
use crate::vm::Xvm;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UtxosArgs {
    addresses: Vec<String>,
    source_chain: String,
    limit: CappedLimit,
    start_index: UtxoIndex,
    encoding: Encoding,
}

#[derive(Debug, Serialize)]
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
        end_index: UtxoIndex {
            address: format_address(vm, &end.address),
            utxo: end.utxo_id.to_string(),
        },
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
    let mut utxos = Vec::new();
    let mut refused = None;
    let mut add = |id: &Id, bytes: &[u8]| match encoding.encode(bytes) {
        Ok(text) => utxos.push(text),
        Err(cause) if refused.is_none() => {
            refused = Some(ServiceError::EncodeUtxo { id: *id, cause });
        }
        Err(_) => {}
    };
    let view = vm.view()?;
    let end = match &source {
        Some(source) => view.visit_atomic_utxos(source, addresses, start, limit, &mut add)?,
        None => view.visit_utxos(addresses, start, limit, &mut add)?,
    };
    refused.map_or(Ok((utxos, end)), Err)
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

/// Where to start; given if either member is.
fn parse_start(vm: &Xvm, index: &UtxoIndex) -> Reply<Option<PageStart>> {
    if !index.is_given() {
        return Ok(None);
    }
    let address = parse_address(vm, &index.address)
        .map_err(|cause| ServiceError::StartAddress { text: index.address.clone(), cause })?;
    Ok(Some(PageStart { address, utxo_id: index.utxo_id()? }))
}
