//! Functions that the tests of this program share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use esker_e2e::funds::funded;
use esker_e2e::hostile::{HonestClient, Latencies};
use esker_e2e::{Node, NodeBuilder};
use esker_primitives::sync::{Mutex, MutexGuard};

/// The longest that a call of an honest client may take here: on machines under load, in a build that is not
/// optimized. What it takes otherwise is in docs/security.md.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);

static TURN: Mutex<()> = Mutex::new(());

/// The tests take turns.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// A development node; of another binary than the tests' own where `ESKER_PROGRAM` names one.
pub(crate) fn dev() -> NodeBuilder {
    let own = || PathBuf::from(env!("CARGO_BIN_EXE_esker-e2e-node"));
    NodeBuilder::new(std::env::var_os("ESKER_PROGRAM").map_or_else(own, PathBuf::from)).dev()
}

/// Does what `attack` does, while an honest client measures.
pub(crate) fn measured<T>(node: &Node, attack: impl FnOnce(SocketAddr) -> T) -> (T, Latencies) {
    let honest = HonestClient::start(node.address(), funded(), now_s()).unwrap();
    let outcome = attack(node.address());
    let latencies = honest.stop().unwrap();
    assert!(latencies.rounds() > 0, "the honest client was not served at all");
    (outcome, latencies)
}

/// Asserts that an honest client did not wait for long.
pub(crate) fn assert_served(attack: &str, latencies: &Latencies) {
    println!("{attack}:\n{latencies}");
    assert!(latencies.longest() < LONGEST, "{attack}:\n{latencies}");
}

/// Unix seconds, for wallets.
#[expect(clippy::disallowed_methods, reason = "tests see the clock that the node under test sees")]
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
