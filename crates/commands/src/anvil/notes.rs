//! What the node says of flags that change nothing, and the refusal of others.

use std::time::Duration;

use clap::ArgMatches;

use super::flags::AnvilFlags;
use super::further::{Effect, FURTHER};

/// Refuses flags that ask for another chain.
pub(super) fn check(given: &ArgMatches) -> Result<(), String> {
    let refused = FURTHER.iter().find_map(|flag| match flag.effect {
        Effect::Refused(why) if flag.is_given(given) => Some(format!("--{}: {why}", flag.name)),
        Effect::Refused(_) | Effect::Always(_) | Effect::Nothing(_) => None,
    });
    refused.map_or(Ok(()), Err)
}

/// A line for each flag that is given and changes nothing, or less than it says.
pub(super) fn of(given: &ArgMatches, flags: &AnvilFlags) -> Vec<String> {
    let without_effect = FURTHER.iter().filter_map(|flag| match flag.effect {
        Effect::Nothing(why) if flag.is_given(given) => Some(format!("--{}: {why}", flag.name)),
        Effect::Nothing(_) | Effect::Always(_) | Effect::Refused(_) => None,
    });
    without_effect.chain(of_values(flags)).collect()
}

/// The lines that depend on values.
fn of_values(flags: &AnvilFlags) -> impl Iterator<Item = String> {
    let mining = &flags.mining;
    let number = mining
        .number
        .filter(|number| *number != 0)
        .map(|_| "--number: the first block has number 0".to_owned());
    let is_fraction = |time: &Duration| time.subsec_nanos() != 0;
    let block_time = mining.block_time.filter(is_fraction).map(|time| {
        let seconds = whole_seconds(time);
        format!("--block-time: blocks come at whole seconds, here every {seconds} s")
    });
    let price = flags.gas.gas_price.filter(|price| *price != 0);
    let price = price.map(|_| "--gas-price: the price follows from the base fee".to_owned());
    [number, block_time, price].into_iter().flatten()
}

/// A time in whole seconds, at least as long.
pub(super) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() != 0)
}
