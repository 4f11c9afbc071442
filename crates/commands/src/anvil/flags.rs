//! The flags of anvil 1.7.1 that have an effect, with its names, short forms, defaults and conflicts.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};

/// The name of the command, and of the program that is only this command.
pub(crate) const NAME: &str = "anvil";

/// What `anvil --version` prints after the name.
const VERSION: &str = concat!("Version: 1.7.1+esker.", env!("CARGO_PKG_VERSION"));

/// Longest time of a flag in seconds: a year.
const MAX_SECONDS: f64 = 366.0 * 24.0 * 3600.0;

/// Start a chain of the EVM for development, with the flags and the banner of anvil
///
/// The chain is that of `esker evm`. docs/from-anvil.md lists the flags without effect.
#[derive(Clone, Debug, Parser)]
#[command(name = NAME, version = VERSION)]
pub(super) struct AnvilFlags {
    /// Port number to listen on
    #[arg(short, long, value_name = "NUM", default_value_t = 8545)]
    pub(super) port: u16,
    /// Number of dev accounts to generate and configure
    #[arg(short, long, value_name = "NUM", default_value_t = 10)]
    pub(super) accounts: u64,
    /// The balance of every dev account in Ether
    #[arg(long, value_name = "NUM", default_value_t = 10_000)]
    pub(super) balance: u64,
    /// BIP39 mnemonic phrase used for generating accounts
    #[arg(short, long, conflicts_with_all = ["mnemonic_random", "mnemonic_seed_unsafe"])]
    pub(super) mnemonic: Option<String>,
    /// Generate a BIP39 mnemonic phrase, of 12 words by default
    #[arg(long, num_args = 0..=1, default_missing_value = "12", conflicts_with = "mnemonic_seed_unsafe")]
    pub(super) mnemonic_random: Option<usize>,
    /// Generate a BIP39 mnemonic phrase from a seed; never use its keys in production
    #[arg(long, value_name = "MNEMONIC_SEED")]
    pub(super) mnemonic_seed_unsafe: Option<u64>,
    /// The derivation path of the accounts [default: m/44'/60'/0'/0/]
    #[arg(long)]
    pub(super) derivation_path: Option<String>,
    /// The EVM hardfork to use, such as `prague` or `cancun` [default: latest]
    #[arg(long)]
    pub(super) hardfork: Option<String>,
    /// The timestamp of the genesis block
    #[arg(long, value_name = "NUM")]
    pub(super) timestamp: Option<u64>,
    /// The chain ID
    #[arg(long, alias = "chain", help_heading = "Environment config")]
    pub(super) chain_id: Option<u64>,
    /// Initialize the genesis block with the given `genesis.json` file
    #[arg(long, value_name = "PATH", value_parser = existing_file)]
    pub(super) init: Option<PathBuf>,
    /// Writes output of `anvil` as json to user-specified file
    #[arg(long, value_name = "FILE")]
    pub(super) config_out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) fork: ForkFlags,
    #[command(flatten)]
    pub(super) mining: MiningFlags,
    #[command(flatten)]
    pub(super) state: StateFlags,
    #[command(flatten)]
    pub(super) gas: GasFlags,
    #[command(flatten)]
    pub(super) server: ServerFlags,
}

/// How blocks are made.
#[derive(Clone, Debug, Args)]
pub(super) struct MiningFlags {
    /// Block time in seconds for interval mining
    #[arg(short, long, value_name = "SECONDS", visible_alias = "blockTime", value_parser = seconds)]
    pub(super) block_time: Option<Duration>,
    /// Disable auto and interval mining, and mine on demand instead
    #[arg(long, visible_alias = "no-mine", conflicts_with = "block_time")]
    pub(super) no_mining: bool,
    /// Mine a block for new transactions, in addition to interval mining
    #[arg(long, requires = "block_time")]
    pub(super) mixed_mining: bool,
    /// How transactions are sorted
    #[arg(long, default_value = "fees", ignore_case = true)]
    pub(super) order: Order,
    /// Maximum number of transactions in a block that is made at once
    #[arg(long, value_name = "MAX_TRANSACTIONS", help_heading = "Options")]
    pub(super) max_transactions: Option<u64>,
    /// Disable pool balance checks
    #[arg(long, help_heading = "EVM options")]
    pub(super) disable_pool_balance_checks: bool,
    /// The number of the genesis block
    #[arg(long, value_name = "NUM")]
    pub(super) number: Option<u64>,
    /// Slots in an epoch: the block `safe` is this far behind the last one, `finalized` twice as far
    #[arg(long, value_name = "SLOTS_IN_AN_EPOCH", default_value_t = 32)]
    pub(super) slots_in_an_epoch: u64,
    /// Send transactions of every account without its key
    #[arg(long, visible_alias = "auto-unlock", help_heading = "EVM options")]
    pub(super) auto_impersonate: bool,
}

/// Files of states.
#[derive(Clone, Debug, Args)]
pub(super) struct StateFlags {
    /// Both --load-state, if the file exists, and --dump-state
    #[arg(long, value_name = "PATH", conflicts_with_all = ["init", "dump_state", "load_state"])]
    pub(super) state: Option<PathBuf>,
    /// Dump the state on exit to the given file, or to `state.json` of a directory
    #[arg(long, value_name = "PATH", conflicts_with = "init")]
    pub(super) dump_state: Option<PathBuf>,
    /// Initialize the chain from a previously saved state snapshot
    #[arg(long, value_name = "PATH", conflicts_with = "init", value_parser = existing_file)]
    pub(super) load_state: Option<PathBuf>,
    /// Don't keep full chain history: without a number only the last state, else this many states before it, too
    #[arg(long, value_name = "PRUNE_HISTORY", num_args = 0..=1)]
    pub(super) prune_history: Option<Option<u64>>,
    /// Max number of states to persist on disk, besides the last 500
    #[arg(long, value_name = "MAX_PERSISTED_STATES", conflicts_with = "prune_history")]
    pub(super) max_persisted_states: Option<u64>,
    /// Folder in which the temporary data folder with the states is made
    #[arg(long, value_name = "PATH")]
    pub(super) cache_path: Option<PathBuf>,
    /// Interval in seconds at which the state is dumped to disk; see --state and --dump-state
    #[arg(short, long, value_name = "SECONDS")]
    pub(super) state_interval: Option<u64>,
    /// Dump the states of earlier blocks, too; see --state and --dump-state
    #[arg(long, conflicts_with = "init")]
    pub(super) preserve_historical_states: bool,
}

/// The fork of another chain.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Fork config")]
pub(super) struct ForkFlags {
    /// Fetch state over a remote endpoint; `URL@1234` forks at block 1234
    #[arg(short, long, value_name = "URL", visible_alias = "rpc-url")]
    pub(super) fork_url: Option<String>,
    /// Begin on the block of a file of `esker fork pack`, without a network (Esker's own)
    #[arg(long, value_name = "FILE", conflicts_with = "fork_url")]
    pub(super) fork_from: Option<PathBuf>,
    /// Fetch state from a specific block; a negative number counts from the latest one
    #[arg(long, value_name = "BLOCK", requires = "fork_url", allow_hyphen_values = true)]
    pub(super) fork_block_number: Option<i64>,
    /// Headers to use for the rpc client, e.g. "User-Agent: test-agent"
    #[arg(long, value_name = "HEADERS", requires = "fork_url")]
    pub(super) fork_header: Vec<String>,
    /// Number of retry requests for spurious networks (timed out requests)
    #[arg(long, requires = "fork_url")]
    pub(super) retries: Option<u64>,
    /// The number of assumed available compute units per second; a call takes 17 of them
    #[arg(long, requires = "fork_url", alias = "cups", value_name = "CUPS")]
    pub(super) compute_units_per_second: Option<u64>,
    /// Initial retry backoff on encountering errors, in milliseconds
    #[arg(long, requires = "fork_url", value_name = "BACKOFF")]
    pub(super) fork_retry_backoff: Option<u64>,
    /// Timeout in ms for requests sent to the remote JSON-RPC server in forking mode [default: 20000]
    #[arg(long, requires = "fork_url")]
    pub(super) timeout: Option<u64>,
    /// The chain ID of the fork, whatever that of the source
    #[arg(long, requires = "fork_block_number", value_name = "CHAIN")]
    pub(super) fork_chain_id: Option<u64>,
    /// Explicitly disables the use of the cache that forks share
    #[arg(long, requires = "fork_url")]
    pub(super) no_storage_caching: bool,
    /// Disables rate limiting for this node's provider
    #[arg(long, requires = "fork_url", visible_alias = "no-rpc-rate-limit")]
    pub(super) no_rate_limit: bool,
}

impl ForkFlags {
    /// Whether the chain is a fork.
    pub(super) fn is_given(&self) -> bool {
        self.fork_url.is_some() || self.fork_from.is_some()
    }
}

/// Fees and limits.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Environment config")]
pub(super) struct GasFlags {
    /// The block gas limit
    #[arg(long, alias = "block-gas-limit")]
    pub(super) gas_limit: Option<u64>,
    /// Allow transactions with any gas limit: blocks have the highest one
    #[arg(long, alias = "disable-gas-limit", conflicts_with = "gas_limit")]
    pub(super) disable_block_gas_limit: bool,
    /// Enable the transaction gas limit of EIP-7825 (Osaka hardfork)
    #[arg(long, visible_alias = "tx-gas-limit")]
    pub(super) enable_tx_gas_limit: bool,
    /// Contract code size limit in bytes (EIP-170). By default, it is 0x6000
    #[arg(long, value_name = "CODE_SIZE", conflicts_with = "disable_code_size_limit")]
    pub(super) code_size_limit: Option<u64>,
    /// Disable EIP-170: Contract code size limit
    #[arg(long)]
    pub(super) disable_code_size_limit: bool,
    /// The gas price of chains before London
    #[arg(long)]
    pub(super) gas_price: Option<u64>,
    /// Suggest a priority fee of 1 wei at least, in place of 1 gwei
    #[arg(long, visible_alias = "no-priority-fee")]
    pub(super) disable_min_priority_fee: bool,
    /// The memory limit per EVM execution in bytes
    #[arg(long, help_heading = "EVM options")]
    pub(super) memory_limit: Option<u64>,
    /// Disable the default create2 deployer
    #[arg(long, visible_alias = "no-create2", help_heading = "EVM options")]
    pub(super) disable_default_create2_deployer: bool,
    /// The base fee in a block
    #[arg(long, value_name = "FEE", visible_alias = "base-fee")]
    pub(super) block_base_fee_per_gas: Option<u64>,
}

/// The server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Server options")]
pub(super) struct ServerFlags {
    /// The hosts the server will listen on
    #[arg(
        long,
        value_name = "IP_ADDR",
        env = "ANVIL_IP_ADDR",
        default_value = "127.0.0.1",
        value_delimiter = ','
    )]
    pub(super) host: Vec<IpAddr>,
    /// Launch an ipc server at the given path, or at `anvil.ipc` in the folder of temporary files
    #[arg(long, value_name = "PATH", visible_alias = "ipcpath", num_args = 0..=1, help_heading = "Options")]
    pub(super) ipc: Option<Option<PathBuf>>,
    /// The cors `allow_origin` header
    #[arg(long, default_value = "*")]
    pub(super) allow_origin: String,
    /// Disable CORS
    #[arg(long, conflicts_with = "allow_origin")]
    pub(super) no_cors: bool,
    /// Disable the default request body size limit, 5 MiB: only the memory for requests limits it, 256 MiB
    #[arg(long)]
    pub(super) no_request_size_limit: bool,
    /// Number of threads to use. Specifying 0 defaults to the number of logical cores
    #[arg(short = 'j', long, visible_alias = "jobs")]
    pub(super) threads: Option<u64>,
    /// Do not print log messages
    #[arg(short, long, alias = "silent", help_heading = "Display options")]
    pub(super) quiet: bool,
    /// Disable printing of `console.log` invocations to stdout
    #[arg(
        long,
        visible_alias = "no-console-log",
        alias = "no-console",
        help_heading = "EVM options"
    )]
    pub(super) disable_console_log: bool,
    /// Print the calls and events of each transaction
    #[arg(long, visible_alias = "enable-trace-printing", help_heading = "EVM options")]
    pub(super) print_traces: bool,
    /// Folder of artifacts, for the names of contracts, functions, events and errors (Esker's own; may be repeated)
    #[arg(long, value_name = "PATH", help_heading = "Display options")]
    pub(super) artifacts: Vec<PathBuf>,
}

/// How transactions are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// Those with the highest fees first.
    Fees,
    /// In the order of their arrival.
    Fifo,
}

impl ServerFlags {
    /// The path of `--ipc`.
    pub(super) fn ipc_path(&self) -> Option<PathBuf> {
        let given = self.ipc.as_ref()?;
        Some(given.clone().unwrap_or_else(|| std::env::temp_dir().join("anvil.ipc")))
    }
}

/// A time in seconds, which may have a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if seconds.is_nan() || seconds <= 0.0 {
        return Err("Duration must be greater than 0".to_owned());
    }
    if seconds > MAX_SECONDS {
        return Err(format!("expected at most {MAX_SECONDS} seconds"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The path of a file that can be read, or of a folder.
fn existing_file(text: &str) -> Result<PathBuf, String> {
    match std::fs::metadata(text) {
        Ok(_) => Ok(PathBuf::from(text)),
        Err(error) => Err(format!("failed to read from {text:?}: {error}")),
    }
}
