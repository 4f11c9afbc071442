//! Heap profiles.

use esker_primitives::thread_memory;
use esker_profiling::heap::{self, RATE};
use esker_testkit::profile;

const BLOCKS: usize = 10_000;
const BLOCK: usize = 16 * 1024;

#[inline(never)]
fn hold_many_blocks() -> Vec<Vec<u8>> {
    (0..BLOCKS).map(|n| vec![u8::try_from(n % 251).unwrap(); BLOCK]).collect()
}

#[inline(never)]
fn grow_one_block() -> Vec<u8> {
    let mut grown = Vec::new();
    for n in 0..16 * RATE / 64 {
        grown.extend_from_slice(&[u8::try_from(n % 256).unwrap(); 64]);
    }
    grown
}

#[test]
fn what_is_held_and_what_was_freed() {
    let held = hold_many_blocks();
    let total = i64::try_from(BLOCKS * BLOCK).unwrap();
    let of = |kind| profile::sum(&heap::profile(), "hold_many_blocks", kind);
    // About 80 samples: an error of a half is four standard deviations and more.
    let near = |value: i64| value > total / 2 && value < total * 2;
    let live = of("inuse_space");
    assert!(near(live), "{live} of {total}");
    assert!(heap::figures().live_bytes > u64::try_from(live).unwrap() / 2);
    assert!(held.iter().enumerate().all(|(n, block)| usize::from(block[BLOCK - 1]) == n % 251));
    drop(held);
    assert_eq!(of("inuse_space"), 0);
    assert!(near(of("alloc_space")));

    // Growing moves samples; every byte arrives.
    let grown = grow_one_block();
    assert!(
        grown
            .chunks(64)
            .enumerate()
            .all(|(n, part)| part.iter().all(|b| usize::from(*b) == n % 256))
    );
    let live = profile::sum(&heap::profile(), "grow_one_block", "inuse_space");
    assert!(live >= i64::try_from(grown.len()).unwrap(), "{live}");
}

#[test]
fn a_thread_knows_what_it_holds() {
    let before = thread_memory::held_bytes();
    let grown =
        |bytes: usize| usize::try_from(thread_memory::held_bytes() - before).unwrap() / bytes;
    let mut block = vec![1_u8; 4 * RATE];
    assert_eq!(grown(RATE), 4);
    // Also where a sample moves.
    block.resize(8 * RATE, 2);
    block.shrink_to_fit();
    assert_eq!(grown(RATE), 8);
    let given = vec![0_u8; 4 * RATE];
    assert_eq!(grown(RATE), 12);
    std::thread::spawn(move || drop(given)).join().unwrap();
    assert_eq!(grown(RATE), 12, "the other thread has freed it");
    drop(block);
    assert_eq!(grown(RATE), 4);
}

#[test]
fn threads_free_what_others_have_allocated() {
    let workers: Vec<_> = (0..4_u8)
        .map(|n| {
            let (send, receive) = std::sync::mpsc::channel::<Vec<u8>>();
            let frees = std::thread::spawn(move || {
                receive.iter().map(|b| usize::from(b[0])).sum::<usize>()
            });
            let makes = std::thread::spawn(move || {
                for size in 0..3000_usize {
                    send.send(vec![n; 1 + size * 7 % 70_000]).unwrap();
                }
            });
            (n, makes, frees)
        })
        .collect();
    for (n, makes, frees) in workers {
        makes.join().unwrap();
        assert_eq!(frees.join().unwrap(), usize::from(n) * 3000);
    }
}
