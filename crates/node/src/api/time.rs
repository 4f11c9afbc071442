//! Timestamps in replies: RFC 3339, UTC, without an empty fraction.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::clock::timestamp;

/// A time, serialized like Go: `2020-12-05T05:00:00Z`, `2020-12-05T05:00:00.25Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp {
    unix_ms: u64,
}

esker_rpc::text_schema!(
    Timestamp,
    "Timestamp",
    "time",
    r"^\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$",
    "A time in UTC (RFC 3339)."
);

impl Timestamp {
    pub(crate) const fn from_ms(unix_ms: u64) -> Self {
        Self { unix_ms }
    }

    pub(crate) const fn from_s(unix_s: u64) -> Self {
        Self { unix_ms: unix_s.saturating_mul(1000) }
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Like Go, this format drops trailing zeros of the fraction, and an empty fraction.
        timestamp(Duration::from_millis(self.unix_ms)).fmt(f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_as_go_writes_them() {
        for (ms, text) in [
            (1_607_144_400_000, "2020-12-05T05:00:00Z"),
            (1_607_144_400_250, "2020-12-05T05:00:00.25Z"),
            (1_607_144_400_001, "2020-12-05T05:00:00.001Z"),
            (1_607_148_000_100, "2020-12-05T06:00:00.1Z"),
        ] {
            assert_eq!(Timestamp::from_ms(ms).to_string(), text);
        }
        assert_eq!(Timestamp::from_s(1_607_144_400), Timestamp::from_ms(1_607_144_400_000));
    }
}
