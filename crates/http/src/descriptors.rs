//! File descriptors: the number of connections that the process can have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors requested from the system in addition to those of the connections.
const WANTED_DESCRIPTORS: u64 = 512;
/// Descriptors reserved for log files, their rotation, disk checks, and a new connection before another one is closed
/// for it.
const RESERVED_DESCRIPTORS: u64 = 16;
/// Assumed number of descriptors in use if the system does not list them.
const ASSUMED_IN_USE: u64 = 64;

/// How many of `wanted` connections the process can have. Raises its limit of open files as far as the system allows.
pub(super) fn connection_limit(wanted: usize) -> usize {
    let limit = raise_limit(wanted as u64);
    let allowed = limit_within(limit, in_use(), wanted);
    if allowed < wanted {
        tracing::warn!(
            open_files = limit,
            connections = allowed,
            wanted,
            "the limit of open files allows fewer connections than http-max-connections"
        );
    }
    allowed
}

fn limit_within(limit: Option<u64>, in_use: u64, wanted: usize) -> usize {
    let Some(limit) = limit else { return wanted };
    let left = limit.saturating_sub(in_use).saturating_sub(RESERVED_DESCRIPTORS).max(1);
    usize::try_from(left).map_or(wanted, |left| left.min(wanted))
}

/// Systems start processes with a limit of about a thousand and allow them to raise it. Returns the new limit; `None`
/// if there is no limit.
fn raise_limit(connections: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let before = current?;
    let needed = connections.saturating_add(in_use()).saturating_add(WANTED_DESCRIPTORS);
    let raised = needed.min(maximum.unwrap_or(u64::MAX));
    if before >= raised {
        return Some(before);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => Some(raised),
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
            Some(before)
        }
    }
}

fn in_use() -> u64 {
    let listed = ["/proc/self/fd", "/dev/fd"].iter().find_map(|path| std::fs::read_dir(path).ok());
    listed.map_or(ASSUMED_IN_USE, |listed| listed.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve() {
        for (limit, in_use, wanted, expected) in [
            (Some(64), 16, 4096, 32),
            (Some(1024), 24, 4096, 984),
            (Some(1024), 24, 100, 100),
            (Some(20), 18, 100, 1),
            (Some(5), 18, 100, 1),
            (None, 18, 100, 100),
        ] {
            assert_eq!(limit_within(limit, in_use, wanted), expected, "{limit:?} {in_use}");
        }
    }

    #[test]
    fn what_is_open_is_counted() {
        let files: Vec<_> = (0..40).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        assert!(in_use() > files.len() as u64);
    }
}
