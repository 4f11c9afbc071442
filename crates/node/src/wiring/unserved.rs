//! Notes for the log about endpoints of other nodes that answer 404 here, with the reason. The keystore's note is
//! made with its endpoint.

use esker_chain::Aliases;
use esker_http::Routes;
use esker_settings::config::Config;
use esker_settings::networks::{ChainSpec, P_ALIASES};

use crate::aliases::AliasTable;
use crate::chains::{Chain, EVM_ADMIN};

/// Records each endpoint that the configuration does not enable.
pub(super) fn note(
    config: &Config,
    chains: &[(ChainSpec, Chain)],
    aliases: &AliasTable,
    routes: &Routes,
) {
    if !config.settings.api_admin_enabled {
        routes.switched_off("admin", withheld(config, "api-admin-enabled"));
    }
    if !config.settings.api_sync_enabled {
        routes.switched_off("sync/bundles", not_enabled("api-sync-enabled"));
    }
    if !config.settings.index_enabled {
        note_indexes(config, chains, routes);
    }
    for (spec, chain) in chains {
        let id = chain.vm().context().chain_id;
        if spec.parameters.evm().is_none() || config.chain(&id).admin_api_enabled {
            continue;
        }
        let key = format!("chains.{}.admin-api-enabled", spec.primary_alias());
        let mut names = aliases.aliases(&id);
        names.push(id.to_string());
        for name in names {
            for path in [format!("bc/{name}{EVM_ADMIN}"), format!("{name}{EVM_ADMIN}")] {
                routes.switched_off(&path, withheld(config, &key));
            }
        }
    }
}

fn note_indexes(config: &Config, chains: &[(ChainSpec, Chain)], routes: &Routes) {
    let note = |chain: &str, index| {
        routes.switched_off(&format!("index/{chain}/{index}"), not_enabled("index-enabled"));
    };
    if config.network.x_chain().is_some() {
        note(P_ALIASES[0], "block");
    }
    for (_, chain) in chains {
        let indexes: &[_] = if chain.was_dag() { &["block", "tx", "vtx"] } else { &["block"] };
        indexes.iter().for_each(|index| note(&chain.vm().name(), index));
    }
}

/// The reason why this node, which may be public, does not serve what this setting enables.
fn withheld(config: &Config, key: &str) -> String {
    match config.settings.public {
        true => "the node is public".to_owned(),
        false => not_enabled(key),
    }
}

fn not_enabled(key: &str) -> String {
    format!("{key} is false")
}
