//! The process's own metrics, under the names that all Prometheus clients use.
//!
//! The `prometheus` crate has a collector of them, which counts whole seconds of CPU time and only knows Linux.

use std::fs;

use esker_profiling::memory;
use prometheus::{Counter, IntGauge};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::registry::Registry;
use super::{families as f, to_i64};
use crate::clock;

/// Ticks a second in Linux's figures of processes.
const TICKS: u64 = 100;

/// Position of the start time in the system's line about a process, counted after the name.
const START: usize = 19;

pub(super) struct ProcessMetrics {
    cpu: Counter,
    resident: IntGauge,
    anonymous: IntGauge,
    address_space: IntGauge,
    open_files: IntGauge,
    max_files: IntGauge,
    threads: IntGauge,
}

impl ProcessMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        f::PROCESS_STARTED.int_gauge(registry).set(to_i64(start_time()));
        Self {
            cpu: f::PROCESS_CPU.counter(registry),
            resident: f::PROCESS_RESIDENT.int_gauge(registry),
            anonymous: f::ANONYMOUS_MEMORY.int_gauge(registry),
            address_space: f::PROCESS_VIRTUAL.int_gauge(registry),
            open_files: f::PROCESS_OPEN_FDS.int_gauge(registry),
            max_files: f::PROCESS_MAX_FDS.int_gauge(registry),
            threads: f::PROCESS_THREADS.int_gauge(registry),
        }
    }

    /// Reads the figures. A figure that the system does not report keeps its value.
    pub(super) fn collect(&self) {
        let used = seconds(clock_gettime(ClockId::ProcessCPUTime));
        self.cpu.inc_by((used - self.cpu.get()).max(0.0));
        let memory = memory::process();
        self.resident.set(to_i64(memory.resident));
        self.anonymous.set(to_i64(memory.anonymous));
        self.address_space.set(to_i64(memory.address_space));
        self.threads.set(to_i64(memory.threads));
        if let Some(open) = open_files() {
            self.open_files.set(to_i64(open));
        }
        self.max_files.set(to_i64(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)));
    }
}

/// Open file descriptors.
fn open_files() -> Option<u64> {
    // Newer kernels give the number as the size of the folder.
    match fs::metadata("/proc/self/fd").map(|folder| folder.len()) {
        Ok(open) if open > 0 => Some(open),
        _ => {
            let list = ["/proc/self/fd", "/dev/fd"].iter().find_map(|at| fs::read_dir(at).ok())?;
            // The list itself is one of them.
            Some((list.count() as u64).saturating_sub(1))
        }
    }
}

/// Start of the process, Unix seconds; approximately now if the system does not report it.
fn start_time() -> u64 {
    let now = clock::now().as_secs();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let age = started_at(&stat).map(|ticks| system_uptime().saturating_sub(ticks / TICKS));
    now.saturating_sub(age.unwrap_or(0))
}

/// Ticks from the start of the system to that of the process, read from the system's line about the process.
fn started_at(stat: &str) -> Option<u64> {
    // The name may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(START)?.parse().ok()
}

#[cfg(target_os = "linux")]
fn system_uptime() -> u64 {
    seconds(clock_gettime(ClockId::Boottime)) as u64
}

#[cfg(not(target_os = "linux"))]
fn system_uptime() -> u64 {
    0
}

fn seconds(time: Timespec) -> f64 {
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_any_name() {
        let rest = "S 1 2 2 0 -1 4194560 100 0 0 0 5 6 0 0 20 0 7 0 123456 1000 50";
        for name in ["esker", "a b", "(x) 1 2 3)"] {
            assert_eq!(started_at(&format!("7 ({name}) {rest}")), Some(123_456), "{name}");
        }
        for broken in ["", "7 (esker) S 1 2", "7 (esker) S 1 2 2 0 -1 4 1 0 0 0 5 6 0 0 2 0 7 0 x"]
        {
            assert_eq!(started_at(broken), None, "{broken}");
        }
    }
}
