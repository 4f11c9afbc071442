//! What the node says of flags that change nothing, and the refusal of others.

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
    let price = flags.gas.gas_price.filter(|price| *price != 0);
    let price = price.map(|_| "--gas-price: the price follows from the base fee".to_owned());
    [number, price].into_iter().flatten()
}
