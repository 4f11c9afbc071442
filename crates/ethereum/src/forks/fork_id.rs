//! The hash of the forks that a chain has reached (EIP-2124, EIP-6122).

use alloy_eips::eip2124::ForkHash;
use alloy_primitives::B256;

use super::config::ChainConfig;

/// The fork hash of a chain whose head has a height and a time (Unix s). Forks that begin with the first block do not
/// count.
pub fn fork_hash(
    config: &ChainConfig,
    genesis_hash: B256,
    genesis_time: u64,
    number: u64,
    time: u64,
) -> [u8; 4] {
    let blocks = reached(&config.blocks, 0, number);
    let times = reached(&config.times, genesis_time, time);
    let begin = ForkHash::from(genesis_hash);
    blocks.into_iter().chain(times).fold(begin, |hash, fork| hash + fork).0
}

/// What lies after `begin`, up to `head`, each once, ascending.
fn reached(forks: &[Option<u64>], begin: u64, head: u64) -> Vec<u64> {
    let mut found: Vec<u64> =
        forks.iter().flatten().copied().filter(|fork| begin < *fork && *fork <= head).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use alloy_primitives::b256;

    use super::*;

    /// The values of EIP-2124 and of go-ethereum's tests.
    #[test]
    fn the_main_network_has_known_hashes() {
        let genesis = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
        let config = ChainConfig::mainnet();
        for (number, time, expected) in [
            (0, 0, [0xfc, 0x64, 0xec, 0x04]),
            (1_149_999, 0, [0xfc, 0x64, 0xec, 0x04]),
            (1_150_000, 0, [0x97, 0xc2, 0xc3, 0x4c]),
            (1_920_000, 0, [0x91, 0xd1, 0xf9, 0x48]),
            (2_463_000, 0, [0x7a, 0x64, 0xda, 0x13]),
            (2_675_000, 0, [0x3e, 0xdd, 0x5b, 0x10]),
            (4_370_000, 0, [0xa0, 0x0b, 0xc3, 0x24]),
            (7_280_000, 0, [0x66, 0x8d, 0xb0, 0xaf]),
            (9_069_000, 0, [0x87, 0x9d, 0x6e, 0x30]),
            (9_200_000, 0, [0xe0, 0x29, 0xe9, 0x91]),
            (12_244_000, 0, [0x0e, 0xb4, 0x40, 0xf6]),
            (12_965_000, 0, [0xb7, 0x15, 0x07, 0x7d]),
            (13_773_000, 0, [0x20, 0xc3, 0x27, 0xfc]),
            (15_050_000, 0, [0xf0, 0xaf, 0xd0, 0xe3]),
            (20_000_000, 1_681_338_455, [0xdc, 0xe9, 0x6c, 0x2d]),
            (20_000_000, 1_710_338_135, [0x9f, 0x3d, 0x22, 0x54]),
            (20_000_000, 1_746_612_311, [0xc3, 0x76, 0xcf, 0x8b]),
        ] {
            assert_eq!(fork_hash(&config, genesis, 0, number, time), expected, "{number} {time}");
        }
    }
}
