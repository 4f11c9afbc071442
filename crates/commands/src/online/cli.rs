//! The arguments of the commands on a running node.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, ValueHint, value_parser};

use super::names::NameTerms;
use super::terms::{MAX_FEE, Terms};
use super::{Action, Call, Forms, OnlineCommand, Order, Signer, SnapshotAction, TimeAction};
use crate::node_url::{self, NodeUrl};

/// The development node's address.
const DEFAULT_URL: &str = "http://127.0.0.1:9650";

/// Names of the commands, in the order of the help.
const NAMES: [&str; 10] = [
    "transfer", "balance", "accounts", "faucet", "time", "mine", "snapshot", "call", "tx",
    "address",
];

/// Whether this is the name of one of the commands.
pub(crate) fn is_command(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The commands.
pub(crate) fn commands() -> [Command; 10] {
    [
        transfer(),
        balance(),
        accounts(),
        faucet(),
        time(),
        mine(),
        snapshot(),
        call(),
        tx(),
        address(),
    ]
}

/// Arguments that every command has. Those of a command with subcommands may follow them.
fn common(command: Command) -> Command {
    let is_global = command.has_subcommands();
    let url = Arg::new("url")
        .long("url")
        .value_name("URL")
        .default_value(DEFAULT_URL)
        .global(is_global)
        .help("The running node");
    let ca_file = node_url::ca_file().global(is_global);
    command.arg(url).arg(ca_file).arg(json().global(is_global))
}

fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON document")
}

fn timeout() -> Arg {
    Arg::new("timeout")
        .long("timeout")
        .value_name("SECONDS")
        .default_value("60")
        .value_parser(value_parser!(u64).range(1..=86_400))
        .help("How long acceptance may take")
}

fn asset() -> Arg {
    Arg::new("asset")
        .long("asset")
        .value_name("ASSET")
        .help("An asset of the X-Chain, by ID or alias")
}

fn key_file() -> Arg {
    Arg::new("private-key-file")
        .long("private-key-file")
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help("File with a private key: PrivateKey-.. or hex")
}

fn required(name: &'static str, value_name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value_name).required(true).help(help)
}

/// The arguments for the highest fee of a payment and for the network of its signature.
fn terms(command: Command) -> Command {
    let network = Arg::new("network")
        .long("network")
        .value_name("NETWORK")
        .help("The network to pay on: main, test, local, dev, a number, or a network file");
    let chain_id = Arg::new("chain-id")
        .long("chain-id")
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help("The EVM chain ID of the chain to pay on");
    let max_fee = Arg::new("max-fee")
        .long("max-fee")
        .value_name("COINS")
        .default_value(MAX_FEE)
        .help("The greatest fee that is paid");
    let yes = Arg::new("yes")
        .long("yes")
        .action(ArgAction::SetTrue)
        .help("Pay a fee above one coin without a question");
    command.arg(network).arg(chain_id).arg(max_fee).arg(yes)
}

fn number(name: &'static str, value_name: &'static str, help: &'static str) -> Arg {
    required(name, value_name, help).value_parser(value_parser!(u64))
}

fn transfer() -> Command {
    let from = Arg::new("from")
        .long("from")
        .value_name("ACCOUNT")
        .value_parser(value_parser!(u32))
        .conflicts_with("private-key-file")
        .help("Number of the development account that pays; the first one by default");
    let chain = Arg::new("chain")
        .long("chain")
        .value_name("CHAIN")
        .help("The chain, if it is not the one that the address says");
    let command = Command::new("transfer")
        .about("Pay on the X-Chain or the C-Chain")
        .long_about(
            "Pay on the X-Chain (to X-..) or the C-Chain (to 0x..), and wait until it is accepted. The key signs here \
             and is not sent. It is that of a development account, of --private-key-file, or of the environment variable \
             ESKER_PRIVATE_KEY; --from and --private-key-file override the variable. A node's word decides neither the \
             network nor a high fee: another network than a development one is named by --network, --chain-id or the \
             address, or confirmed once on the terminal.",
        )
        .arg(required("amount", "AMOUNT", "How much: 1.5, or 1.5ether, 5nano, 5gwei or 5wei of the native asset"))
        .arg(required("to", "TO", "Who gets it: X-.. or 0x.."))
        .arg(from)
        .arg(key_file())
        .arg(asset())
        .arg(chain)
        .arg(timeout());
    common(terms(command))
}

fn balance() -> Command {
    let command = Command::new("balance")
        .about("Show what an address has")
        .long_about(
            "Show what an address has: all assets of X-.., the native asset of 0x.., and of C-.. what was exported to it \
             and is not imported yet.",
        )
        .arg(required("address", "ADDRESS", "X-.., C-.. or 0x.., or the number of a development account"))
        .arg(asset());
    common(command)
}

fn accounts() -> Command {
    let private_keys = Arg::new("private-keys")
        .long("private-keys")
        .action(ArgAction::SetTrue)
        .help("Show the private keys, too");
    common(
        Command::new("accounts")
            .about("Show the accounts of a development node with their balances")
            .long_about(
                "Show the accounts of a development node with their addresses and balances. They follow from its mnemonic: \
                 if the node has another one, set ESKER_MNEMONIC and ESKER_DERIVATION_PATH as for the node.",
            )
            .arg(private_keys),
    )
}

fn faucet() -> Command {
    let amount = Arg::new("amount")
        .value_name("AMOUNT")
        .default_value("100")
        .help("How much of the native asset");
    common(terms(
        Command::new("faucet")
            .about("Give an address native units, on a development node")
            .arg(required("to", "ADDRESS", "Who gets it: X-.. or 0x.."))
            .arg(amount)
            .arg(timeout()),
    ))
}

fn time() -> Command {
    let increase = Command::new("increase").about("Move the clock forward").arg(required(
        "duration",
        "DURATION",
        "How far: seconds, or 90s, 1h30m, 2d",
    ));
    let set = Command::new("set").about("Set the clock, which runs on from there").arg(required(
        "time",
        "TIME",
        "Unix seconds, 2030-01-01 or 2030-01-01T12:30:00Z; not before the last block of any chain",
    ));
    let either = Arg::new("move")
        .value_name("TIME")
        .allow_hyphen_values(true)
        .help("Move the clock: forward by +1h, or to 2030-01-01");
    common(
        Command::new("time")
            .about("Show or move the clock of a development node")
            .arg(either)
            .subcommand(Command::new("get").about("Show the clock"))
            .subcommand(increase)
            .subcommand(set),
    )
}

fn mine() -> Command {
    let blocks = Arg::new("blocks")
        .value_name("N")
        .default_value("1")
        .value_parser(value_parser!(u64).range(1..=100_000))
        .help("How many blocks");
    let interval = Arg::new("interval")
        .long("interval")
        .value_name("SECONDS")
        .default_value("0")
        .value_parser(value_parser!(u64))
        .help("How much later each is than it would be");
    common(
        Command::new("mine")
            .about("Make blocks on the C-Chain of a development node")
            .arg(blocks)
            .arg(interval),
    )
}

fn snapshot() -> Command {
    let revert = Command::new("revert")
        .about("Go back to a snapshot, which uses it up with all later ones")
        .arg(number("id", "ID", "The snapshot"));
    common(
        Command::new("snapshot")
            .about("Take a snapshot of all chains of a development node, or go back to one")
            .subcommand(Command::new("take").about("Take a snapshot and print its ID"))
            .subcommand(revert)
            .subcommand(Command::new("list").about("Show the snapshots that are left")),
    )
}

fn call() -> Command {
    let params = Arg::new("params")
        .value_name("PARAMS")
        .num_args(0..)
        .help(
            "Parameters: one JSON object (names with a point) or list (others), or words: name=value for an object, values \
             for a list; each is JSON or else a text",
        );
    let chain = Arg::new("chain")
        .long("chain")
        .value_name("CHAIN")
        .conflicts_with("path")
        .help("Another chain than X or C, for methods of a chain");
    let path = Arg::new("path")
        .long("path")
        .value_name("PATH")
        .help("The endpoint, if it is not the one that the name says");
    let command = Command::new("call")
        .about("Call a method and print its result")
        .long_about(
            "Call a method and print its result as JSON. The endpoint follows from the method's name. An error of the \
             node has the exit code 1.",
        )
        .arg(required("method", "METHOD", "Full name: xvm.getHeight, evm_blockNumber"))
        .arg(params)
        .arg(chain)
        .arg(path);
    common(command)
}

fn tx() -> Command {
    let chain =
        Arg::new("chain").long("chain").value_name("CHAIN").help("Another chain than X and C");
    let artifacts = Arg::new("artifacts")
        .long("artifacts")
        .value_name("PATH")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath)
        .help("Folder of artifacts of Hardhat, Foundry or Ignition, for names; may be repeated");
    let trace = Arg::new("trace")
        .long("trace")
        .action(ArgAction::SetTrue)
        .help("Show all calls and events of a transaction of the EVM");
    let command = Command::new("tx")
        .about("Show a transaction of any chain: status, block, inputs and outputs")
        .arg(required("id", "ID", "ID of a transaction of X or an atomic one, or 0x.. of C"))
        .arg(artifacts)
        .arg(trace)
        .arg(chain);
    common(command)
}

fn address() -> Command {
    let public_key = Arg::new("public-key")
        .long("public-key")
        .value_name("HEX")
        .help("A public key: 33 or 65 bytes");
    let bytes = Arg::new("bytes")
        .long("bytes")
        .action(ArgAction::SetTrue)
        .requires("address")
        .help("The hex digits are the bytes of an X- or C- address");
    let network = Arg::new("network")
        .long("network")
        .value_name("NAME")
        .default_value("local")
        .help("Network of the X- and C- addresses: main, test, local or a number");
    Command::new("address")
        .about("Convert an address between its forms, without a node")
        .long_about(
            "Convert an address between its forms, without a node. X- and C- addresses are the same 20 bytes, a hash of \
             the public key. An EVM address is another hash of it: only a key gives both.",
        )
        .arg(Arg::new("address").value_name("ADDRESS").help("X-.., C-.. or 0x.."))
        .arg(public_key)
        .arg(key_file())
        .group(
            ArgGroup::new("source").args(["address", "public-key", "private-key-file"]),
        )
        .arg(bytes)
        .arg(network)
        .arg(json())
}

/// The parsed command of that name.
pub(crate) fn parse(name: &str, given: &ArgMatches) -> OnlineCommand {
    let text = |name: &str| given.get_one::<String>(name).cloned();
    let plain = |name: &str| text(name).unwrap_or_default();
    let count =
        |given: &ArgMatches, name: &str| given.get_one::<u64>(name).copied().unwrap_or_default();
    let word =
        |given: &ArgMatches, name: &str| given.get_one::<String>(name).cloned().unwrap_or_default();
    let order = || Order {
        amount: plain("amount"),
        to: plain("to"),
        asset: None,
        chain: None,
        timeout_s: count(given, "timeout"),
        terms: Terms {
            network: text("network"),
            chain_id: given.get_one("chain-id").copied(),
            max_fee: plain("max-fee"),
            yes: given.get_flag("yes"),
        },
    };
    let action = match name {
        "transfer" => Action::Transfer {
            order: Order { asset: text("asset"), chain: text("chain"), ..order() },
            signer: Signer {
                from: given.get_one("from").copied(),
                private_key_file: given.get_one("private-key-file").cloned(),
            },
        },
        "balance" => Action::Balance { address: plain("address"), asset: text("asset") },
        "accounts" => Action::Accounts { private_keys: given.get_flag("private-keys") },
        "faucet" => Action::Faucet(order()),
        "mine" => {
            Action::Mine { blocks: count(given, "blocks"), interval_s: count(given, "interval") }
        }
        "time" => Action::Time(match given.subcommand() {
            Some(("increase", given)) => TimeAction::Increase(word(given, "duration")),
            Some(("set", given)) => TimeAction::Set(word(given, "time")),
            Some(_) => TimeAction::Get,
            None => text("move").map_or(TimeAction::Get, TimeAction::Move),
        }),
        "call" => Action::Call(Call {
            method: plain("method"),
            params: given.get_many("params").unwrap_or_default().cloned().collect(),
            chain: text("chain"),
            path: text("path"),
        }),
        "tx" => Action::Tx {
            id: plain("id"),
            chain: text("chain"),
            terms: NameTerms {
                artifacts: given.get_many("artifacts").unwrap_or_default().cloned().collect(),
                has_trace: given.get_flag("trace"),
            },
        },
        "address" => Action::Address(Forms {
            address: text("address"),
            public_key: text("public-key"),
            private_key_file: given.get_one("private-key-file").cloned(),
            is_bytes: given.get_flag("bytes"),
            network: plain("network"),
        }),
        _ => Action::Snapshot(match given.subcommand() {
            Some(("revert", given)) => SnapshotAction::Revert(count(given, "id")),
            Some(("list", _)) => SnapshotAction::List,
            _ => SnapshotAction::Take,
        }),
    };
    // Arguments of a command may stand behind its subcommand.
    let inner = given.subcommand().map_or(given, |(_, inner)| inner);
    OnlineCommand { node: NodeUrl::parse(inner), json: inner.get_flag("json"), action }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_parsed() {
        let commands = commands();
        let names: Vec<_> = commands.iter().map(Command::get_name).collect();
        assert_eq!(names, NAMES);
        assert!(!is_command("dev"));
    }
}
