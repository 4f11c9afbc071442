//! The chain's methods: decode arguments, query a [`View`](crate::state::View), reply.
//!
//! Wire types live here and nowhere else. A handler decodes, asks, replies; what needs more than that belongs to the
//! view. Texts and the order of checks are the reference's (docs/protocol/x-chain-services.md, "X-Chain services"),
//! as tests/golden shows them. A method runs where its cost allows: in place what takes some microseconds, on the
//! blocking pool what reads many rows or renders a whole block.

mod address_txs;
mod assets;
mod balances;
mod blocks;
mod encoded_reply;
mod error;
mod events;
pub mod genesis;
mod keys;
#[cfg(test)]
mod tests;
mod txs;
mod utxos;
pub mod wallet;

use std::sync::Arc;

use esker_chain::address::{ServiceAddressError, parse_service_address};
use esker_primitives::{AssetId, ShortId, address};
use esker_rpc::handler::{blocking, quick, restartable, waits};
use esker_rpc::{MethodTable, Route, RpcError, cost};
use esker_services::sending::forward_error;

use crate::chain::Xvm;
pub(crate) use error::ServiceError;

/// A handler's outcome.
type Reply<R> = Result<R, ServiceError>;

/// The chain's endpoints: `xvm` at its own path, `wallet` below it.
pub fn routes(vm: Arc<Xvm>) -> Vec<Route> {
    let wallet = wallet::methods().bind(Arc::clone(&vm));
    let socket = Arc::new(events::EventSocket::new(Arc::clone(&vm)));
    let service = methods().bind(vm).merge(&events::http_methods());
    vec![
        Route::object("", service).with_socket(events::WS, socket),
        Route::object("/wallet", wallet),
    ]
}

/// The `xvm` namespace, in the order of the specification.
///
/// Those of the keystore's users follow.
pub fn methods() -> MethodTable<Xvm> {
    let table = MethodTable::new("xvm")
        .alias("avm")
        .on("buildGenesis", blocking(on_chain(genesis::build_genesis)))
        .cost(cost::CALL)
        .on("getAddressTxs", blocking(served(address_txs::get_address_txs)))
        .deprecated("v1.9.12")
        .instead("index.getContainerRange")
        .cost(cost::CALL)
        .on("getAllBalances", blocking(served(balances::get_all_balances)))
        .deprecated("v1.9.12")
        .cost(cost::SEARCH)
        .on("getAssetDescription", quick(served(assets::get_asset_description)))
        .on(
            "getBalance",
            restartable(|vm, args, context| Ok(balances::get_balance(vm, args, context)?)),
        )
        .deprecated("v1.9.12")
        .instead("xvm.getUTXOs")
        .short_first()
        .cost(cost::SEARCH)
        .on("getBlock", blocking(served(blocks::get_block)))
        .cost(cost::LARGE_READ)
        .on("getBlockByHeight", blocking(served(blocks::get_block_by_height)))
        .cost(cost::LARGE_READ)
        .on("getHeight", quick(served(blocks::get_height)))
        .on("getTx", quick(served(txs::get_tx)))
        .on("getTxFee", quick(served(assets::get_tx_fee)))
        .on("getTxStatus", quick(served(txs::get_tx_status)))
        .deprecated("v1.10.0")
        .instead("xvm.getTx")
        .on("getUTXOs", blocking(served(utxos::get_utxos)))
        .cost(cost::CALL)
        .on("issueTx", waits(txs::issue_tx))
        .cost(cost::SEND);
    let table = table.checked_by(check_sending, &["issueTx"]);
    table.trusted_callers_only(|table| table.costing(cost::HEAVY, keys::methods))
}

/// Whether the node takes transactions at all.
fn check_sending(vm: &Xvm) -> Result<(), RpcError> {
    vm.context().check_sending().map_err(forward_error)
}

/// A handler as the method table takes it.
fn served<P, R>(
    handler: impl Fn(&Xvm, P) -> Reply<R> + Send + Sync + 'static,
) -> impl Fn(&Xvm, P) -> Result<R, RpcError> + Send + Sync + 'static {
    move |vm, args| Ok(handler(vm, args)?)
}

/// A static handler, served on the chain's endpoint too.
fn on_chain<P, R>(
    handler: impl Fn(&genesis::Static, P) -> Reply<R> + Send + Sync + 'static,
) -> impl Fn(&Xvm, P) -> Result<R, RpcError> + Send + Sync + 'static {
    move |_, args| Ok(handler(&genesis::Static, args)?)
}

/// Runs work that takes long on a thread of the blocking pool.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Reply<T> + Send + 'static,
) -> Reply<T> {
    esker_rpc::off_thread(work).await?
}

/// Reads an address of this chain.
fn parse_address(vm: &Xvm, text: &str) -> Result<ShortId, ServiceAddressError> {
    let context = vm.context();
    parse_service_address(context.aliases.as_ref(), &context.chain_id, &context.hrp, text)
}

/// Reads an address of this chain, with the error texts of the balance methods.
fn parse_balance_address(vm: &Xvm, text: &str) -> Reply<ShortId> {
    parse_address(vm, text)
        .map_err(|cause| ServiceError::BalanceAddress { text: text.to_owned(), cause })
}

/// The text of an address on this chain.
fn format_address(vm: &Xvm, address: &ShortId) -> String {
    let context = vm.context();
    address::format(&context.primary_alias(), &context.hrp, address)
}

/// The asset behind an alias of the genesis, a name of the native asset, or an ID.
fn lookup_asset(vm: &Xvm, text: &str) -> Reply<AssetId> {
    vm.assets().lookup(text).ok_or_else(|| ServiceError::UnknownAsset(text.to_owned()))
}

/// Unix seconds now.
fn now_s(vm: &Xvm) -> u64 {
    vm.context().clock.now_s()
}
