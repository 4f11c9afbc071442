//! The methods of `dev` that let the node sign for addresses of the chains of UTXOs without their keys.

use std::sync::Arc;

use esker_chain::address::parse_service_address;
use esker_chain::{ChainContext, Impersonations};
use esker_evm::control::{ControlError, Snapshots};
use esker_primitives::{ShortId, address};
use esker_rpc::handler::quick;
use esker_rpc::{MethodTable, NoArgs, RpcError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The impersonated addresses, as the X-Chain shows them.
pub(super) struct ImpersonationApi {
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) context: ChainContext,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AddressArgs {
    /// The address; that of another network, too.
    address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddressReply {
    /// The address in the form of this network.
    address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddressesReply {
    /// In the order of their bytes.
    addresses: Vec<String>,
}

/// Its methods.
pub(super) fn methods() -> MethodTable<ImpersonationApi> {
    MethodTable::new("dev")
        .on("impersonateAddress", quick(ImpersonationApi::impersonate))
        .on("getImpersonatedAddresses", quick(ImpersonationApi::addresses))
        .on("stopImpersonatingAddress", quick(ImpersonationApi::stop))
}

impl ImpersonationApi {
    /// Those of a node with controls.
    fn impersonations(&self) -> Result<&Impersonations, RpcError> {
        let known = self.snapshots.chain().and(self.context.impersonations.as_deref());
        known.ok_or_else(|| RpcError::new(ControlError::Followed.to_string()))
    }

    fn impersonate(&self, args: AddressArgs) -> Result<AddressReply, RpcError> {
        let address = self.parse(&args.address)?;
        self.impersonations()?.add(address).map_err(|error| RpcError::new(error.to_string()))?;
        Ok(AddressReply { address: self.format(&address) })
    }

    fn stop(&self, args: AddressArgs) -> Result<AddressReply, RpcError> {
        let address = self.parse(&args.address)?;
        self.impersonations()?.remove(&address);
        Ok(AddressReply { address: self.format(&address) })
    }

    fn addresses(&self, _: NoArgs) -> Result<AddressesReply, RpcError> {
        let addresses = self.impersonations()?.all();
        Ok(AddressesReply { addresses: addresses.iter().map(|one| self.format(one)).collect() })
    }

    /// An address of this chain, or of the X-Chain of another network.
    fn parse(&self, text: &str) -> Result<ShortId, RpcError> {
        let ChainContext { aliases, chain_id, hrp, .. } = &self.context;
        let other = address::split(text).ok().map(|(_, hrp, _)| hrp);
        let hrp = other.as_ref().unwrap_or(hrp);
        let parsed = parse_service_address(aliases.as_ref(), chain_id, hrp, text);
        parsed.map_err(|error| RpcError::new(error.to_string()))
    }

    fn format(&self, address: &ShortId) -> String {
        address::format(&self.context.primary_alias(), &self.context.hrp, address)
    }
}
