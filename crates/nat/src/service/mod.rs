//! The `nat` namespace (docs/protocol/atomic-transactions.md, "The nat namespace"): what was exported to this chain,
//! atomic transactions, and transfers with the keys of the node's users.
//!
//! A handler checks its arguments in the reference's order, asks [`Nat`], replies. All run on the blocking pool: what
//! is quick here reads the store or recovers signatures.

mod arguments;
mod encoded_tx;
mod error;
mod keys;
mod transfers;
mod txs;
mod utxos;

use std::sync::Arc;

use esker_chain::ChainContext;
use esker_evm::oracle::{FeeOracle, OracleConfig};
use esker_keystore::{Keystore, UserQueues};
use esker_primitives::address;
use esker_primitives::ids::ShortId;
use esker_rpc::handler::{blocking, blocking_then, quick, waits_with_address};
use esker_rpc::{Fallback, MethodTable, NoArgs, Route, RpcError, cost};
use esker_services::sending::forward_error;
use esker_transactions::nat::AtomicTx;
use schemars::JsonSchema;
use serde::Serialize;

use self::error::ServiceError;
use crate::chain::Nat;
use crate::verify::{VerifyError, syntactic};

/// A handler's outcome.
type Reply<R> = Result<R, ServiceError>;

/// The release of the reference by which the two older names had newer ones.
const DEPRECATED_SINCE: &str = "v1.9.12";

/// Answers the `nat` methods of one chain.
#[derive(Debug)]
pub struct NatService {
    nat: Nat,
    keystore: Arc<Keystore>,
    user_queues: UserQueues,
    oracle: FeeOracle,
    version: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VersionReply {
    version: String,
}

impl NatService {
    /// Over a chain and the node's users; `version` is what `nat.version` returns.
    pub fn new(nat: Nat, keystore: Arc<Keystore>, version: String) -> Arc<Self> {
        let rules = Arc::clone(&nat.evm().params().rules);
        let oracle = FeeOracle::new(OracleConfig::default(), rules);
        let user_queues = UserQueues::default();
        Arc::new(Self { nat, keystore, user_queues, oracle, version })
    }

    /// The endpoints, below the chain's name: `/nat`, and the reference's name for it. With `fallback`, which a forked chain
    /// has, calls that lack state run again once it is there.
    pub fn routes(self: &Arc<Self>, fallback: Option<&Arc<dyn Fallback>>) -> Vec<Route> {
        let service = methods().bind(Arc::clone(self));
        if let Some(fallback) = fallback {
            service.set_fallback(fallback);
        }
        vec![Route::object("/nat", service.clone()), Route::object("/avax", service)]
    }

    fn context(&self) -> &ChainContext {
        self.nat.context()
    }

    /// The text of an address on this chain.
    fn format_address(&self, owner: &ShortId) -> String {
        let context = self.context();
        address::format(&context.primary_alias(), &context.hrp, owner)
    }

    /// Whether a transaction meets the rules that need no state, as of the last block.
    fn verify_syntactic(&self, tx: &AtomicTx) -> Reply<Result<(), VerifyError>> {
        let phase = self.nat.phase()?;
        Ok(syntactic::verify(tx.unsigned(), self.context(), &phase))
    }

    fn version(&self, _: NoArgs) -> Result<VersionReply, RpcError> {
        Ok(VersionReply { version: self.version.clone() })
    }
}

/// The `nat` namespace, in the order of the specification.
pub fn methods() -> MethodTable<NatService> {
    MethodTable::new("nat")
        .alias("avax")
        .trusted_callers_only(|table| {
            table
                .on("export", waits_with_address(transfers::export))
                .cost(cost::HEAVY)
                .on("exportNative", waits_with_address(transfers::export_native))
                .deprecated(DEPRECATED_SINCE)
                .instead("nat.export")
                .also_named("exportAVAX")
                .cost(cost::HEAVY)
                .on("exportKey", waits_with_address(keys::export_key))
                .cost(cost::HEAVY)
        })
        .on("getAtomicTx", blocking(served(txs::get_atomic_tx)))
        .on("getAtomicTxStatus", blocking(served(txs::get_atomic_tx_status)))
        .on("getUTXOs", blocking(served(utxos::get_utxos)))
        .cost(cost::CALL)
        .trusted_callers_only(|table| {
            table
                .on("import", waits_with_address(transfers::import))
                .cost(cost::HEAVY)
                .on("importNative", waits_with_address(transfers::import))
                .deprecated(DEPRECATED_SINCE)
                .instead("nat.import")
                .also_named("importAVAX")
                .cost(cost::HEAVY)
                .on("importKey", waits_with_address(keys::import_key))
                .cost(cost::HEAVY)
        })
        .on("issueTx", blocking_then(|nat, args, _| Ok(txs::issue_tx(nat, args)?)))
        .short()
        .cost(cost::SEND)
        .on("version", quick(NatService::version))
        .checked_by(check_sending, &SENDING)
}

/// Methods that send transactions.
const SENDING: [&str; 5] = ["export", "exportNative", "import", "importNative", "issueTx"];

/// Whether the node takes transactions at all.
fn check_sending(nat: &NatService) -> Result<(), RpcError> {
    nat.context().check_sending().map_err(forward_error)
}

/// A handler as the method table takes it.
fn served<P, R>(
    handler: impl Fn(&NatService, P) -> Reply<R> + Send + Sync + 'static,
) -> impl Fn(&NatService, P) -> Result<R, RpcError> + Send + Sync + 'static {
    move |nat, args| Ok(handler(nat, args)?)
}
