//! The flags of anvil 1.7.1 that change nothing here, and what is said of each.

use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, value_parser};

/// A flag that changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct FurtherFlag {
    pub(super) name: &'static str,
    short: Option<char>,
    aliases: &'static [&'static str],
    takes: Takes,
    pub(super) effect: Effect,
    conflicts: &'static [&'static str],
}

/// What a flag takes.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Nothing,
    /// Nothing, any number of times.
    Times,
    Number(&'static str),
    Text(&'static str),
    OneOf(&'static [&'static str]),
}

/// What becomes of a flag that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// What it asks for is so in any case.
    Always(&'static str),
    /// It is accepted; the node says this of it.
    Nothing(&'static str),
    /// It is refused.
    Refused(&'static str),
}

const NO_TX_FORK: &str = "a fork begins after a whole block: give --fork-block-number";
const NO_FAMILY: &str = "chains have Ethereum's rules: leave it out";
const LOG_FORM: &str = "the events below the banner have one form, as anvil's";

const fn flag(name: &'static str, takes: Takes, effect: Effect) -> FurtherFlag {
    FurtherFlag { name, short: None, aliases: &[], takes, effect, conflicts: &[] }
}

const fn always(name: &'static str, why: &'static str) -> FurtherFlag {
    flag(name, Takes::Nothing, Effect::Always(why))
}

const fn nothing(name: &'static str, takes: Takes, why: &'static str) -> FurtherFlag {
    flag(name, takes, Effect::Nothing(why))
}

const fn of_family(name: &'static str) -> FurtherFlag {
    flag(name, Takes::Nothing, Effect::Refused(NO_FAMILY))
}

/// The flags, in three groups.
pub(super) const FURTHER: &[FurtherFlag] = &[
    FurtherFlag {
        aliases: &["tracing"],
        ..always("steps-tracing", "every transaction can be traced")
    },
    FurtherFlag {
        short: Some('n'),
        ..flag("network", Takes::OneOf(&["ethereum"]), Effect::Always("the rules are Ethereum's"))
    },
    flag(
        "color",
        Takes::OneOf(&["auto", "always", "never"]),
        Effect::Always("the banner and the events have no colours"),
    ),
    nothing(
        "transaction-block-keeper",
        Takes::Number("TRANSACTION_BLOCK_KEEPER"),
        "all blocks are kept",
    ),
    FurtherFlag { conflicts: &["quiet", "md"], ..always("json", LOG_FORM) },
    always("md", LOG_FORM),
    FurtherFlag {
        short: Some('v'),
        conflicts: &["quiet"],
        ..flag("verbosity", Takes::Times, Effect::Always(LOG_FORM))
    },
    flag("fork-transaction-hash", Takes::Text("TRANSACTION"), Effect::Refused(NO_TX_FORK)),
    of_family("celo"),
    of_family("optimism"),
    of_family("tempo"),
];

/// The flags as arguments.
pub(super) fn arguments() -> impl Iterator<Item = Arg> {
    FURTHER.iter().map(FurtherFlag::argument)
}

impl FurtherFlag {
    fn argument(&self) -> Arg {
        let (heading, help) = match self.effect {
            Effect::Always(why) => ("Flags for what is always so", why.to_owned()),
            Effect::Nothing(why) => ("Flags without effect", format!("Without effect: {why}")),
            Effect::Refused(why) => ("Flags that are refused", format!("Refused: {why}")),
        };
        let argument = Arg::new(self.name)
            .long(self.name)
            .short(self.short)
            .visible_aliases(self.aliases)
            .conflicts_with_all(self.conflicts)
            .help_heading(heading)
            .help(help);
        match self.takes {
            Takes::Nothing => argument.action(ArgAction::SetTrue),
            Takes::Times => argument.action(ArgAction::Count),
            Takes::Number(name) => argument.value_name(name).value_parser(value_parser!(u64)),
            Takes::Text(name) => {
                argument.value_name(name).action(ArgAction::Append).allow_hyphen_values(true)
            }
            Takes::OneOf(values) => argument.value_parser(PossibleValuesParser::new(values)),
        }
    }

    /// Whether the user gave the flag.
    pub(super) fn is_given(&self, matches: &ArgMatches) -> bool {
        matches.value_source(self.name).is_some_and(|source| source != ValueSource::DefaultValue)
    }
}
