//! Figures of the allocator and of the system.

/// Memory of this process, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident memory.
    pub resident: u64,
    /// Resident memory without files: heap and stacks.
    pub anonymous: u64,
    /// The largest resident memory so far.
    pub peak_resident: u64,
    /// Memory that the allocator has from the system.
    pub committed: u64,
    /// The largest amount so far.
    pub peak_committed: u64,
    /// Pages that had to be read from a disk.
    pub page_faults: u64,
    /// Threads.
    pub threads: u64,
    /// Address space.
    pub address_space: u64,
}

/// The present figures of the allocator and the system.
pub fn process() -> ProcessMemory {
    let mut figures = [0_usize; 8];
    let [elapsed, user, system, resident, peak_resident, committed, peak_committed, faults] =
        &mut figures;
    #[expect(unsafe_code, reason = "a function of C that fills in numbers")]
    // SAFETY: eight places for a number each, which it writes and does not keep.
    unsafe {
        libmimalloc_sys::mi_process_info(
            elapsed,
            user,
            system,
            resident,
            peak_resident,
            committed,
            peak_committed,
            faults,
        );
    }
    let [.., resident, peak_resident, committed, peak_committed, page_faults] =
        figures.map(|figure| figure as u64);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0_u64)
    };
    ProcessMemory {
        resident: match field("VmRSS:") {
            0 => resident,
            kib => kib.saturating_mul(1024),
        },
        anonymous: field("RssAnon:").saturating_mul(1024),
        peak_resident,
        committed,
        peak_committed,
        page_faults,
        threads: field("Threads:"),
        address_space: field("VmSize:").saturating_mul(1024),
    }
}

/// Makes threads give memory back to the system after work that used much
/// ([`esker_primitives::thread_memory::release`]).
pub fn release_after_work() {
    // Only the first call has an effect, and all calls set the same.
    esker_primitives::thread_memory::set_release(release);
}

/// Gives free memory back to the system, that of this thread first.
pub fn release() {
    #[expect(
        unsafe_code,
        reason = "a function of C that takes a flag and may be called from any thread"
    )]
    // SAFETY: it has no precondition; it touches free memory only.
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}
