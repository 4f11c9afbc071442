//! Amounts of the native coin.

/// Digits after the point.
const DECIMALS: usize = 4;

/// An amount of wei in the unit in which it is short: its first digits.
pub(super) fn coins(wei: &str) -> String {
    match wei.len() {
        _ if wei == "0" => "0 ETH".to_owned(),
        0..=5 => format!("{wei} wei"),
        6..=14 => format!("{} gwei", shifted(wei, 9)),
        _ => format!("{} ETH", shifted(wei, 18)),
    }
}

/// A whole number divided by a power of ten, with at most so many decimals as are shown.
fn shifted(digits: &str, places: usize) -> String {
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, rest) = padded.split_at(padded.len() - places);
    match rest[..DECIMALS].trim_end_matches('0') {
        "" => whole.to_owned(),
        decimals => format!("{whole}.{decimals}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_in_the_unit_in_which_they_are_short() {
        for (wei, expected) in [
            ("0", "0 ETH"),
            ("1", "1 wei"),
            ("99999", "99999 wei"),
            ("100000", "0.0001 gwei"),
            ("123456789", "0.1234 gwei"),
            ("99999999999999", "99999.9999 gwei"),
            ("100000000000000", "0.0001 ETH"),
            ("50000000000000000", "0.05 ETH"),
            ("1000000000000000000", "1 ETH"),
            ("1234567890123456789", "1.2345 ETH"),
            ("10000000000000000000000", "10000 ETH"),
        ] {
            assert_eq!(coins(wei), expected);
        }
    }
}
