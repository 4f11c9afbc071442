//! The bundles that can be rewound, formatted for the user.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use esker_chain::{Bundle, ChainError, ChainMachine as _};
use esker_node::chains::Chain;
use esker_node::clock::rfc3339;
use esker_primitives::ChainId;

use crate::offline::Offline;

/// The last bundles, newest first, down to the lowest that can become the last one.
pub(super) struct Plan {
    /// Names and IDs of the chains.
    chains: Vec<(String, ChainId)>,
    bundles: Vec<PlanLine>,
    /// The blocks of each chain in all bundles but the lowest.
    rewound: BTreeMap<ChainId, RewoundBlocks>,
}

/// A bundle, and the heights of the chains after it.
struct PlanLine {
    height: u64,
    timestamp_ms: u64,
    heights: BTreeMap<ChainId, u64>,
}

/// Blocks of a chain.
#[derive(Default)]
struct RewoundBlocks {
    /// The lowest and the highest.
    blocks: Option<(u64, u64)>,
    txs: usize,
    atomic_txs: usize,
}

impl Plan {
    /// Reads the bundles down to `lowest`; the last one alone if that is `None`.
    pub(super) fn read(node: &Offline, lowest: Option<u64>) -> Result<Self, ChainError> {
        let machine = node.machine();
        let (last, _) = machine.last_final();
        let chains: Vec<&Chain> = node.chains().collect();
        let ids = chains.iter().map(|chain| (chain.vm().name(), chain.vm().context().chain_id));
        let mut plan =
            Self { chains: ids.collect(), bundles: Vec::new(), rewound: BTreeMap::new() };
        let heights = chains.iter().map(|chain| chain.vm());
        let mut heights: BTreeMap<ChainId, u64> =
            heights.map(|vm| (vm.context().chain_id, vm.stats().height)).collect();
        let lowest = lowest.unwrap_or(last);
        for height in (lowest..=last).rev() {
            let missing = || ChainError::Corrupted(format!("bundle {height} is missing"));
            let (bundle, _) = machine.bundle_at(height)?.ok_or_else(missing)?;
            let Bundle { timestamp_ms, .. } = bundle;
            plan.bundles.push(PlanLine { height, timestamp_ms, heights: heights.clone() });
            if height == lowest {
                break;
            }
            for (id, block) in &bundle.blocks {
                let Some(at) = heights.get_mut(id) else { continue };
                let rewound = plan.rewound.entry(*id).or_default();
                let highest = rewound.blocks.map_or(*at, |(_, highest)| highest);
                rewound.blocks = Some((*at, highest));
                let chain = chains.iter().find(|chain| chain.vm().context().chain_id == *id);
                let counted = chain.and_then(|chain| chain.count_txs(block)).unwrap_or_default();
                rewound.txs += counted.0;
                rewound.atomic_txs += counted.1;
                *at = at.saturating_sub(1);
            }
        }
        Ok(plan)
    }

    /// The list of all bundles, one per line.
    pub(super) fn list(&self) -> String {
        let mut out = match &self.bundles[..] {
            [.., lowest] if self.bundles.len() > 1 => {
                format!("--to-height takes a bundle from {} on:\n", lowest.height)
            }
            _ => "no bundle can be rewound: there is no undo data (rewind-depth)\n".to_owned(),
        };
        let _written = write!(out, "{:>10}  {:<24}", "bundle", "time");
        for (name, _) in &self.chains {
            let _written = write!(out, "  {:>10}", format!("{name} block"));
        }
        out.push('\n');
        for line in &self.bundles {
            let time = format_time(line.timestamp_ms);
            let _written = write!(out, "{:>10}  {time:<24}", line.height);
            for (_, id) in &self.chains {
                let height = line.heights.get(id).copied().unwrap_or_default();
                let _written = write!(out, "  {height:>10}");
            }
            out.push('\n');
        }
        out
    }

    /// The blocks and transactions that are rewound.
    pub(super) fn summary(&self) -> String {
        let [newest, .., first, to] = &self.bundles[..] else {
            let (Some(newest), Some(to)) = (self.bundles.first(), self.bundles.last()) else {
                return String::new();
            };
            return self.summary_of(newest, newest, to);
        };
        self.summary_of(newest, first, to)
    }

    fn summary_of(&self, newest: &PlanLine, first: &PlanLine, to: &PlanLine) -> String {
        let range = match newest.height == first.height {
            true => format!("bundle {}", newest.height),
            false => format!("bundles {} to {}", first.height, newest.height),
        };
        let mut out = format!(
            "to rewind: {range}, made since {}; bundle {} becomes the last one\n",
            format_time(first.timestamp_ms),
            to.height
        );
        for (name, id) in &self.chains {
            let _written = match self.rewound.get(id) {
                Some(RewoundBlocks { blocks: Some((lowest, highest)), txs, atomic_txs }) => {
                    let blocks = match lowest == highest {
                        true => format!("block {lowest}"),
                        false => format!("blocks {lowest} to {highest}"),
                    };
                    let atomic_txs = match atomic_txs {
                        0 => String::new(),
                        atomic_txs => format!(" and {atomic_txs} atomic"),
                    };
                    writeln!(out, "  {name}: {blocks}, transactions: {txs}{atomic_txs}")
                }
                Some(_) | None => writeln!(out, "  {name}: no block"),
            };
        }
        out
    }
}

/// Formats a Unix time in ms.
fn format_time(unix_ms: u64) -> String {
    rfc3339(Duration::from_millis(unix_ms))
}
