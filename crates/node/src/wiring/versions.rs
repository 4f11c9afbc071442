//! Versions of the software, for `/ext/info`.

use std::collections::BTreeMap;

use esker_primitives::Id;
use esker_settings::networks::Vm;
use esker_utxo::FxKind;
use esker_xvm::genesis::primary;

use crate::api::{Software, Versions};

/// The reference's names of the virtual machines, which clients use.
fn names() -> [(Id, &'static str); 3] {
    [(Vm::Xvm.id(), "avm"), (Vm::Evm.id(), "evm"), (primary::PLATFORM_VM_ID, "platform")]
}

/// The software, with the commit that the program was built from; empty if it is not known.
pub(super) fn software(commit: &str) -> Software {
    Software { versions: versions(commit), vms: vms(), fxs: fxs() }
}

fn versions(commit: &str) -> Versions {
    let version = env!("CARGO_PKG_VERSION");
    let vms = names().map(|(_, name)| (name.to_owned(), format!("v{version}")));
    Versions {
        node: format!("esker/{version}"),
        database: format!("v{}.0.0", esker_storage::meta::SCHEMA_VERSION),
        rpc_protocol: 0,
        git_commit: commit.to_owned(),
        vms: BTreeMap::from(vms),
    }
}

fn vms() -> Vec<(Id, Vec<String>)> {
    names().map(|(id, name)| (id, vec![name.to_owned()])).to_vec()
}

fn fxs() -> Vec<(Id, String)> {
    FxKind::ALL.into_iter().map(|fx| (fx.id(), fx.name().to_owned())).collect()
}
