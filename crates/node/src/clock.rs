//! The wall clock, the one place where the node reads it, and its text form.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use esker_primitives::clock::{Clock, Sleep};

/// The system's clock; sleeping needs a tokio runtime with its timer on.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(now().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep_until(&self, unix_ms: u64) -> Sleep {
        // The timer may be ahead of the wall clock, or the wall clock may be set back meanwhile.
        Box::pin(async move {
            loop {
                match unix_ms.saturating_sub(Self.now_ms()) {
                    0 => return,
                    wait => tokio::time::sleep(Duration::from_millis(wait)).await,
                }
            }
        })
    }
}

/// Time since 1970, UTC; zero on a clock set before.
#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A time since 1970 as `2020-12-05T05:00:00.000Z`, UTC with milliseconds.
pub fn rfc3339(since_epoch: Duration) -> String {
    let (seconds, millis) = (since_epoch.as_secs(), since_epoch.subsec_millis());
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Days since 1970-01-01 to year, month, day: the Gregorian calendar counted in eras of 400 years
/// that begin on 1 March.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_607_144_400, "2020-12-05T05:00:00.000Z"),
            (4_102_444_799, "2099-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(Duration::from_millis(1_042)), "1970-01-01T00:00:01.042Z");
    }
}
