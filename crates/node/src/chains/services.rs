//! Builds the services over the chains, once the machine is open.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::{AdjustableClock, ChainError, Machine};
use esker_evm::control::Snapshots;
use esker_js_tracer::ScriptSlots;
use esker_primitives::ChainId;
use esker_rpc::Route;
use esker_settings::config::Config;
use esker_settings::networks::{ChainParameters, ChainSpec};
use esker_xvm::Xvm;

use super::evm_services::{self, SharedInputs};
use super::factory::Chain;
use super::parts::{Development, ServiceParts};

/// The endpoints of the services over each chain.
pub type ChainRoutes = BTreeMap<ChainId, Vec<Route>>;

/// The services over the chains.
#[derive(Debug)]
pub struct ChainServices {
    /// Their endpoints, which own the chains, and with them the open store.
    pub routes: ChainRoutes,
    /// What the chains of a development network share.
    pub development: Option<Development>,
}

/// Builds the services. `machine` is that of a node that decides alone, `clock` that of a development network.
///
/// # Errors
/// A setting can't be used.
pub fn build(
    chains: &[(ChainSpec, Chain)],
    machine: Option<&Arc<Machine>>,
    clock: Option<&AdjustableClock>,
    config: &Config,
    parts: ServiceParts<'_>,
) -> Result<ChainServices, ChainError> {
    let snapshots = clock.map(|clock| Arc::new(snapshots(chains, machine, clock, config)));
    let script_slots = &Arc::<ScriptSlots>::default();
    let shared = SharedInputs { machine, clock, snapshots: snapshots.as_ref(), script_slots };
    let (mut routes, mut node) = (ChainRoutes::new(), None);
    for (spec, chain) in chains {
        let of_chain = match (chain, &spec.parameters) {
            (Chain::Evm(chain), ChainParameters::Evm(parameters)) => {
                let of_chain = (spec, &**parameters, chain);
                let services = evm_services::build(of_chain, config, (parts, shared))?;
                // Further EVM chains have no files.
                if spec.id == config.network.evm_chain().id {
                    node = services.development;
                }
                services.routes
            }
            (Chain::Evm(_), ChainParameters::Xvm(_)) => Vec::new(),
            (Chain::Xvm(xvm), _) => xvm_routes(spec, xvm, parts),
        };
        routes.insert(spec.id, of_chain);
    }
    let development = clock.zip(snapshots);
    let development = development
        .map(|(clock, snapshots)| Development::new(clock.clone(), snapshots, node.as_ref()));
    Ok(ChainServices { routes, development })
}

/// The snapshots of a development network. Under `esker dev` and `esker evm` the EVM chains have controls.
fn snapshots(
    chains: &[(ChainSpec, Chain)],
    machine: Option<&Arc<Machine>>,
    clock: &AdjustableClock,
    config: &Config,
) -> Snapshots {
    let evms = chains.iter().filter(|_| config.mode.is_development());
    let evms = evms.filter_map(|(_, chain)| match chain {
        Chain::Xvm(_) => None,
        Chain::Evm(chain) => Some(Arc::clone(chain.evm())),
    });
    Snapshots::new(clock.clone(), machine, &evms.collect::<Vec<_>>())
}

fn xvm_routes(spec: &ChainSpec, xvm: &Arc<Xvm>, parts: ServiceParts<'_>) -> Vec<Route> {
    // Weak, so that metrics do not keep the chain, and with it the store, alive.
    let weak = Arc::downgrade(xvm);
    parts.metrics.watch_subscriptions(&spec.primary_alias(), move || {
        weak.upgrade().map(|xvm| xvm.subscription_counts()).unwrap_or_default()
    });
    esker_xvm::service::routes(Arc::clone(xvm))
}
