//! The banner of anvil, which launchers read line by line.

use std::fmt::Write as _;
use std::path::PathBuf;

use esker_settings::networks::DevAccounts;

use super::{Ready, fork_lines};

/// Below each heading.
const RULE: &str = "==================";

/// What the banner has besides the data of the node.
#[derive(Clone, Debug)]
pub(crate) struct AnvilBanner {
    /// Whether blocks have a gas limit.
    pub(crate) has_gas_limit: bool,
    /// Path of the socket of the file system, if there is one.
    pub(crate) ipc: Option<PathBuf>,
    /// Lines about flags without effect.
    pub(crate) notes: Vec<String>,
}

/// The banner. Its last line says where the node listens.
pub(crate) fn anvil_banner(ready: &Ready, more: &AnvilBanner) -> String {
    let mut banner =
        format!("\n    Esker {}, with the flags and the banner of anvil 1.7.1\n\n", ready.version);
    let gas_limit = match more.has_gas_limit {
        true => ready.gas_limit.to_string(),
        false => "Disabled".to_owned(),
    };
    // Writing to a String can't fail.
    let _ok = ready.dev_accounts.as_ref().map(|funded| accounts(&mut banner, funded));
    if let Some(fork) = &ready.fork {
        let _ok = writeln!(banner, "Fork\n{RULE}");
        for (name, value) in fork_lines(fork) {
            let _ok = writeln!(banner, "{:<15} {value}", format!("{name}:"));
        }
        let _ok = writeln!(banner);
    }
    for (name, value) in [
        ("Chain ID", ready.evm_chain_id.to_string()),
        ("Base Fee", ready.base_fee.to_string()),
        ("Gas Limit", gas_limit),
        ("Genesis Timestamp", ready.start_s.to_string()),
        ("Genesis Number", ready.genesis_number.to_string()),
    ] {
        let _ok = section(&mut banner, name, &[value]);
    }
    if !more.notes.is_empty() {
        let _ok = section(&mut banner, "Flags Without Effect", &more.notes);
    }
    let _ok = more.ipc.as_ref().map(|path| writeln!(banner, "IPC path: {}", path.display()));
    let _ok = writeln!(banner, "Listening on {}", ready.listening());
    banner
}

fn accounts(banner: &mut String, funded: &DevAccounts) -> std::fmt::Result {
    let DevAccounts { mnemonic, path, balance, accounts } = funded;
    let numbered = |line: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..accounts.len()).map(|number| format!("({number}) {}", line(number))).collect()
    };
    let address = |number: usize| {
        format!("{} ({balance}.000000000000000000 ETH)", accounts[number].c_address())
    };
    section(banner, "Available Accounts", &numbered(&address))?;
    let key = |number: usize| format!("0x{}", accounts[number].key_hex());
    section(banner, "Private Keys", &numbered(&key))?;
    writeln!(banner, "Wallet\n{RULE}")?;
    writeln!(banner, "Mnemonic:          {mnemonic}")?;
    writeln!(banner, "Derivation path:   {path}/\n\n")
}

fn section(banner: &mut String, name: &str, lines: &[String]) -> std::fmt::Result {
    writeln!(banner, "{name}\n{RULE}\n\n{}\n", lines.join("\n"))
}
