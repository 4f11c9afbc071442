//! Arguments that describe a transaction or a call, and what is to be different while it runs.

mod access_list;
mod args;
mod bundles;
mod call_bundle;
mod conditions;
mod overrides;
mod simulate;
mod slots;

pub use access_list::AccessListArg;
pub use args::TransactionArgs;
pub use bundles::{BundleArgs, StateContextArgs};
pub use call_bundle::CallBundleArgs;
pub use conditions::{ConditionsArgs, KnownAccount, KnownAccounts, KnownParts};
pub use overrides::{AccountOverride, BlockOverrides, StateOverrides};
pub use simulate::{HeaderArgs, SimulateArgs, SimulatedBlockArgs};
pub use slots::SlotRequests;
