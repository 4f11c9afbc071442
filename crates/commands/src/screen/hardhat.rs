//! The banner of `npx hardhat node`, whose first line launchers read.

use std::fmt::Write as _;

use super::{Ready, fork_lines};

/// Before the accounts and after them.
const WARNING: &str = "WARNING: These accounts, and their private keys, are publicly known.\n\
                       Any funds sent to them on Mainnet or any other live network WILL BE LOST.\n";

/// The banner.
pub(crate) fn hardhat_banner(ready: &Ready) -> String {
    let url = ready.evm_url.as_ref().unwrap_or(&ready.url);
    let mut banner = format!("Started HTTP and WebSocket JSON-RPC server at {url}/\n\n");
    // Writing to a String can't fail.
    if let Some(fork) = &ready.fork {
        let _ok = writeln!(banner, "Fork\n====");
        for (name, value) in fork_lines(fork) {
            let _ok = writeln!(banner, "{name}: {value}");
        }
        let _ok = writeln!(banner);
    }
    let _ok = write!(banner, "Accounts\n========\n\n{WARNING}\n");
    if let Some(funded) = &ready.dev_accounts {
        for (number, account) in funded.accounts.iter().enumerate() {
            let (address, balance) = (account.c_address(), funded.balance);
            let _ok = write!(
                banner,
                "Account #{number}: {address} ({balance} ETH)\nPrivate Key: 0x{}\n\n",
                account.key_hex()
            );
        }
    }
    let _ok = writeln!(banner, "{WARNING}");
    banner
}
