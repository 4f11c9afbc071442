//! Network numbers, their names and the bech32 prefix of their addresses.

use std::borrow::Cow;

/// The main network.
pub const MAIN_ID: u32 = 1;
/// The test network.
pub const TEST_ID: u32 = 5;
/// The local network.
pub const LOCAL_ID: u32 = 12345;

/// Networks with a name: number, name, bech32 prefix.
const NAMED: [(u32, &str, &str); 7] = [
    (MAIN_ID, "mainnet", "avax"),
    (2, "cascade", "cascade"),
    (3, "denali", "denali"),
    (4, "everest", "everest"),
    (TEST_ID, "fuji", "fuji"),
    (10, "testing", "testing"),
    (LOCAL_ID, "local", "local"),
];

fn named(network_id: u32) -> Option<&'static (u32, &'static str, &'static str)> {
    NAMED.iter().find(|(id, ..)| *id == network_id)
}

/// The bech32 prefix of a network's addresses.
pub fn hrp(network_id: u32) -> &'static str {
    named(network_id).map_or("custom", |(_, _, hrp)| hrp)
}

/// The reference's name of a network; `network-N` for a network without a name.
pub fn name(network_id: u32) -> Cow<'static, str> {
    match named(network_id) {
        Some((_, name, _)) => Cow::Borrowed(name),
        None => Cow::Owned(format!("network-{network_id}")),
    }
}

/// The number of a network by its name: a name of the table, `testnet`, `network-N` or `N` alone, in any letter case.
pub fn id(text: &str) -> Option<u32> {
    let text = text.to_ascii_lowercase();
    if text == "testnet" {
        return Some(TEST_ID);
    }
    let named = NAMED.iter().find(|(_, name, _)| *name == text).map(|(id, ..)| *id);
    named.or_else(|| text.strip_prefix("network-").unwrap_or(&text).parse().ok())
}
