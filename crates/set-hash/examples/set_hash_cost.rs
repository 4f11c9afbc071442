//! Measures the cost of a change of the set hash: `cargo run --release -p esker-set-hash --example set_hash_cost`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use esker_set_hash::SetHash;

const CHANGES: u32 = 200_000;

#[expect(clippy::print_stdout, reason = "its output is the result")]
fn main() {
    // An element with its head: an asset or a plain UTXO, an exported UTXO, a UTXO with many owners.
    for len in [150usize, 200, 350, 1000] {
        let (mut hash, mut row) = (SetHash::EMPTY, vec![7u8; len]);
        let insert = time(|at| {
            row[..4].copy_from_slice(&at.to_le_bytes());
            hash.insert(&[black_box(&row)]);
        });
        let remove = time(|at| {
            row[..4].copy_from_slice(&at.to_le_bytes());
            hash.remove(&[black_box(&row)]);
        });
        assert_eq!(hash, SetHash::EMPTY);
        println!("{len} bytes: insert {insert:.2} us, remove {remove:.2} us");
    }
    let hash = SetHash::EMPTY;
    let checksum = time(|_| {
        black_box(black_box(&hash).checksum());
    });
    println!("checksum: {checksum:.2} us");
}

/// Microseconds of one call.
fn time(mut change: impl FnMut(u32)) -> f64 {
    let begun = Instant::now();
    (0..CHANGES).for_each(&mut change);
    let took: Duration = begun.elapsed();
    took.as_secs_f64() * 1e6 / f64::from(CHANGES)
}
