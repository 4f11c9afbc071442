//! CPU profiles, and stacks of threads: both take the one sampler of the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use esker_profiling::cpu::CpuProfile;
use esker_profiling::{ProfileError, threads};
use esker_testkit::profile;

#[inline(never)]
fn find_a_needle(stop: &AtomicBool) -> u64 {
    let mut state = 7_u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..1000 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005) ^ 1);
        }
    }
    state
}

#[inline(never)]
fn wait_in_this_function(released: &mpsc::Receiver<()>) -> bool {
    std::hint::black_box(released.recv().is_ok())
}

/// Everything about the one sampler, in turn.
#[test]
fn one_profile_at_a_time_shows_what_runs() {
    let stop = Arc::new(AtomicBool::new(false));
    let busy = {
        let stop = Arc::clone(&stop);
        thread::Builder::new()
            .name("needle".to_owned())
            .spawn(move || find_a_needle(&stop))
            .unwrap()
    };
    let profile = CpuProfile::start().unwrap();
    for _ in 0..3 {
        assert!(matches!(CpuProfile::start(), Err(ProfileError::AlreadyRunning)));
    }
    // While it runs the samples are its own.
    assert!(threads::stacks().iter().all(|thread| thread.functions.is_empty()));
    // On a busy machine it may take a while until the thread has had its share.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut profile = profile;
    loop {
        thread::sleep(Duration::from_millis(500));
        let ns = profile::sum(&profile.finish().unwrap(), "find_a_needle", "cpu");
        if ns > 50_000_000 {
            break;
        }
        assert!(Instant::now() < deadline, "{ns} ns");
        profile = CpuProfile::start().unwrap();
    }

    // One that is dropped leaves the sampler to the next one.
    for _ in 0..3 {
        drop(CpuProfile::start().unwrap());
        let deadline = Instant::now() + Duration::from_secs(10);
        while CpuProfile::start().is_err() {
            assert!(Instant::now() < deadline, "the sampler stays taken");
            thread::sleep(Duration::from_millis(1));
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = CpuProfile::start().and_then(CpuProfile::finish) {
            assert!(Instant::now() < deadline, "{error}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    let (release, released) = mpsc::channel();
    let waits = thread::Builder::new()
        .name("waits".to_owned())
        .spawn(move || wait_in_this_function(&released))
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let shows = |stacks: &[threads::ThreadStack], name: &str, function: &str| {
        stacks.iter().any(|thread| {
            thread.name == name && thread.functions.iter().any(|f| f.contains(function))
        })
    };
    loop {
        let stacks = threads::stacks();
        let text: String = stacks.iter().map(threads::ThreadStack::text).collect();
        // The question for its stack wakes a thread: it may still run when it is asked for its state.
        if shows(&stacks, "needle", "find_a_needle")
            && shows(&stacks, "waits", "wait_in_this_function")
            && text.contains("\"waits\" [sleeping, ")
        {
            break;
        }
        assert!(Instant::now() < deadline, "{stacks:#?}");
    }
    stop.store(true, Ordering::Relaxed);
    release.send(()).unwrap();
    busy.join().unwrap();
    assert!(waits.join().unwrap());
}
