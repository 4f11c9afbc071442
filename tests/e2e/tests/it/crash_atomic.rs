//! kill -9 between exports and their imports, with transfers on both chains under way: the native asset is conserved
//! to the last unit, and no transfer is half done.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use esker_e2e::Node;
use esker_e2e::funds::key;

use crate::load::{Export, Mover, Random, with_load};
use crate::support::{PROGRAM, local, wallet};

/// Kills of one run.
const ROUNDS: u64 = 5;
/// A variable that asks for more of them.
const ROUNDS_VARIABLE: &str = "CRASH_ROUNDS";
/// Longest time from an export to the kill, in microseconds: about what the import after it takes.
const MOST_US: u64 = 12_000;
#[test]
fn kills_between_exports_and_imports_lose_nothing() {
    let rounds = std::env::var(ROUNDS_VARIABLE).map_or(ROUNDS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let start = || local().dev().data_dir(folder.path()).start().unwrap();
    let mut node = start();
    let mover = Mover::new(&node);
    let (mut random, mut waited) = (Random(rounds), 0);
    for round in 1..=rounds {
        let (exports, us) = (1 + random.below(4), random.below(MOST_US));
        let reported = load_until(node, &mover, exports, Duration::from_micros(us));
        let supply = verify(folder.path());
        waited += u64::from(!supply.contains("; 0 in shared memory;"));
        node = start();
        for export in &reported {
            assert!(mover.is_accepted(&node, export), "round {round}: {export:?} was accepted");
        }
    }
    println!("{waited} of {rounds} kills came between an export and its import");
    // The exports that wait can be imported, on both sides.
    mover.take_all(node.address()).unwrap();
    assert!(node.stop().unwrap().success());
    let supply = verify(folder.path());
    assert!(supply.contains("; 0 in shared memory;"), "{supply}");
}

/// `esker db verify` finds nothing; what it says of the supply.
fn verify(folder: &Path) -> String {
    let mut command = Command::new(PROGRAM);
    command.args(["db", "verify", "--dev", "--data-dir"]).arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && reported.ends_with("\nnothing is wrong\n"), "{reported}");
    reported
}

/// Moves all that reaches the node until so many exports were reported accepted, and kills it some time later.
fn load_until(node: Node, mover: &Mover, exports: u64, then: Duration) -> Vec<Export> {
    let on_x = wallet(&node, "X", key(1));
    let (mut seen, rest) = with_load(node.address(), on_x, mover, |reports| {
        let count = usize::try_from(exports).unwrap();
        let seen: Vec<Export> = reports.iter().take(count).collect();
        assert_eq!(seen.len(), count);
        // At no particular moment of the node's work.
        thread::sleep(then);
        node.kill().unwrap();
        seen
    });
    seen.extend(rest);
    seen
}
