//! What `esker anvil` writes when the node is ready: the banner, and the file of `--config-out`.

use std::path::PathBuf;

use esker_node::StartError;
use serde_json::json;

use super::flags::AnvilFlags;
use crate::screen::{self, AnvilBanner, Ready, write_with_keys};

/// What is written when the node is ready.
#[derive(Clone, Debug)]
pub struct AnvilOutput {
    banner: AnvilBanner,
    config_out: Option<PathBuf>,
    gas_price: Option<u64>,
    /// The gas limit that the user asked for.
    gas_limit: Option<u64>,
}

impl AnvilOutput {
    pub(super) fn new(flags: &AnvilFlags, notes: Vec<String>) -> Self {
        let has_gas_limit = !flags.gas.disable_block_gas_limit;
        Self {
            banner: AnvilBanner { has_gas_limit, ipc: flags.server.ipc_path(), notes },
            config_out: flags.config_out.clone(),
            gas_price: flags.gas.gas_price,
            gas_limit: flags.gas.gas_limit,
        }
    }

    /// The banner. Its last line is the one that launchers wait for.
    pub fn banner(&self, ready: &Ready) -> String {
        screen::anvil_banner(ready, &self.banner)
    }

    /// Writes the file of `--config-out`, if it is wanted.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write_config(&self, ready: &Ready) -> Result<(), StartError> {
        let Some(path) = &self.config_out else { return Ok(()) };
        write_with_keys(path, self.config(ready).as_bytes(), ready.has_secrets())
            .map_err(|error| StartError::Write { path: path.clone(), error })
    }

    fn config(&self, ready: &Ready) -> String {
        let funded = ready.dev_accounts.as_ref();
        let accounts = || funded.iter().flat_map(|funded| &funded.accounts);
        let gas_limit = match self.banner.has_gas_limit {
            true => self.gas_limit,
            false => Some(ready.gas_limit),
        };
        let gas_price = self.gas_price.unwrap_or(ready.base_fee);
        let config = json!({
            "available_accounts": accounts().map(|one| format!("{:#x}", one.c_address())).collect::<Vec<_>>(),
            "private_keys": accounts().map(|one| format!("0x{}", one.key_hex())).collect::<Vec<_>>(),
            "wallet": funded.map(|funded| json!({
                "mnemonic": funded.mnemonic,
                "derivation_path": format!("{}/", funded.path),
            })),
            "base_fee": ready.base_fee.to_string(),
            "gas_price": gas_price.to_string(),
            "gas_limit": gas_limit.map(|gas| gas.to_string()),
            "genesis_timestamp": ready.start_s.to_string(),
        });
        format!("{config}\n")
    }
}
