//! The present stack of each thread of the process, as text.
//!
//! Each thread in turn gets the signal of the CPU sampler, and takes a sample of its own stack. During a CPU profile there
//! are no stacks, because they would get into the profile, but only names, states and times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

use crate::cpu::{SamplerPermit, ThreadId, sample_thread, sampler};

/// Most threads whose stacks are taken.
pub const MAX_THREADS: usize = 512;

/// Longest time of taking stacks.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Pause between the signals to two threads; a sample takes some microseconds.
const STEP: Duration = Duration::from_millis(1);

/// A thread and its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStack {
    /// The system's ID of the thread.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its state: `running`, `sleeping`, `waiting for the disk`.
    pub state: &'static str,
    /// Processor time, in hundredths of a second.
    pub ticks: u64,
    /// Names of functions, the innermost first; empty if the thread took no sample in time.
    pub functions: Vec<String>,
}

impl ThreadStack {
    /// A paragraph: a line about the thread, then one for each function.
    pub fn text(&self) -> String {
        let Self { id, name, state, ticks, functions } = self;
        let ms = ticks.saturating_mul(10);
        let mut text = format!("thread {id} \"{name}\" [{state}, {ms} ms]:\n");
        for function in functions {
            // Writing to a String can't fail.
            let _ok = writeln!(text, "\t{function}");
        }
        text
    }
}

/// All threads, ordered by the system's IDs.
pub fn stacks() -> Vec<ThreadStack> {
    let mut threads = list();
    if let Some(turn) = SamplerPermit::for_stacks() {
        take_stacks(&mut threads);
        drop(turn);
    }
    threads
}

fn take_stacks(threads: &mut [ThreadStack]) {
    // Its own timer is too slow to interfere.
    let Ok(sampler) = sampler(1) else { return };
    let begin = Instant::now();
    let mut asked = Vec::new();
    // If two threads get the signal at the same time, there is one sample; the other thread gets another signal.
    for thread in threads.iter().take(MAX_THREADS) {
        if begin.elapsed() > MAX_TIME {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "samples carry the time of the system")]
        asked.push((SystemTime::now(), thread.id));
        if sample_thread(thread.id).is_ok() {
            std::thread::sleep(STEP);
        }
    }
    let Ok(report) = sampler.report().build() else { return };
    drop(sampler);
    let mut found: BTreeMap<ThreadId, Vec<String>> = BTreeMap::new();
    for frames in report.data.keys() {
        let after = asked.partition_point(|(at, _)| *at <= frames.sample_timestamp);
        let Some((_, thread)) = after.checked_sub(1).and_then(|at| asked.get(at)) else { continue };
        let names = frames.frames.iter().flatten().map(pprof::Symbol::name);
        found.insert(*thread, names.collect());
    }
    for thread in threads {
        thread.functions = found.remove(&thread.id).unwrap_or_default();
    }
}

/// The threads, without stacks.
fn list() -> Vec<ThreadStack> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut threads: Vec<_> = entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            parse_stat(id, &stat)
        })
        .collect();
    threads.sort_by_key(|thread| thread.id);
    threads
}

/// Parses the system's line about a thread: ID, name in parentheses, state, and numbers.
fn parse_stat(id: ThreadId, stat: &str) -> Option<ThreadStack> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0_u64);
    let state = match *fields.first()? {
        "R" => "running",
        "S" => "sleeping",
        "D" => "waiting for the disk",
        "T" | "t" => "stopped",
        _ => "ending",
    };
    Some(ThreadStack {
        id,
        name: name.to_owned(),
        state,
        ticks: number(11).saturating_add(number(12)),
        functions: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_system() {
        let line = "12 (a (b) c) S 1 1 1 0 -1 4194624 1 2 3 4 7 5 0 0 20 0 3 0 99 0 0";
        let thread = parse_stat(12, line).unwrap();
        assert_eq!((thread.name.as_str(), thread.state, thread.ticks), ("a (b) c", "sleeping", 12));
        assert_eq!(thread.text(), "thread 12 \"a (b) c\" [sleeping, 120 ms]:\n");
        assert_eq!(parse_stat(1, "1 no name"), None);
    }
}
