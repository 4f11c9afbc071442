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
    without_effect.chain(of_number(flags)).chain(of_states(flags)).collect()
}

/// The line about a number that a fork can't have.
fn of_number(flags: &AnvilFlags) -> Option<String> {
    let is_given = flags.mining.number.is_some() && flags.fork.is_given();
    is_given.then(|| "--number: the blocks of a fork follow those of its source".to_owned())
}

/// The line about states that a fork keeps all the same.
fn of_states(flags: &AnvilFlags) -> Option<String> {
    let state = &flags.state;
    let name = match (state.prune_history, state.max_persisted_states) {
        (Some(_), _) => "prune-history",
        (None, Some(_)) => "max-persisted-states",
        (None, None) => return None,
    };
    let is_fork = flags.fork.is_given();
    is_fork.then(|| format!("--{name}: a fork keeps all its states"))
}
