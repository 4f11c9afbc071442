//! The circles that there are.

use super::Exception;

/// The list may only shrink: a circle gets no further file, and a file that is in none is taken off.
pub(super) const EXCEPTIONS: &[Exception] = &[
    (
        "a member and the command that starts it agree on an argument and a time",
        &["crates/commands/src/network/member.rs", "crates/commands/src/network/run.rs"],
    ),
    (
        "facts of the network answer the methods of P",
        &["crates/node/src/api/facts.rs", "crates/node/src/api/platform/mod.rs"],
    ),
    (
        "chains are built with what the node has for them",
        &[
            "crates/node/src/chains/evm.rs",
            "crates/node/src/chains/factory.rs",
            "crates/node/src/chains/followed.rs",
            "crates/node/src/config/follow.rs",
            "crates/node/src/config/mod.rs",
            "crates/node/src/diagnostics.rs",
        ],
    ),
    (
        "a fixture is part of a network, and names its chains",
        &[
            "crates/node/src/fixture/c.rs",
            "crates/node/src/fixture/contracts.rs",
            "crates/node/src/fixture/exports.rs",
            "crates/node/src/fixture/file.rs",
            "crates/node/src/fixture/mod.rs",
            "crates/node/src/fixture/senders.rs",
            "crates/node/src/fixture/x.rs",
            "crates/node/src/networks/coin.rs",
            "crates/node/src/networks/dev.rs",
            "crates/node/src/networks/file.rs",
            "crates/node/src/networks/funding.rs",
            "crates/node/src/networks/parameters.rs",
            "crates/node/src/networks/presets.rs",
            "crates/node/src/networks/spec.rs",
        ],
    ),
    (
        "rules of modules have levels, and levels have rules",
        &["crates/node/src/logging/levels.rs", "crates/node/src/logging/modules.rs"],
    ),
    (
        "the error of a start has those of its parameters",
        &["crates/node/src/wiring/error.rs", "crates/node/src/wiring/parameters.rs"],
    ),
];
