//! All settings, in one table. The structs, the flags, the environment variables, the keys of the configuration file,
//! the help texts and docs/configuration.md are generated from it. To add a setting, add a line here and use the
//! field.

use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::value::{
    CommaList, IpRanges, LineList, PathList, Positive, Seconds, SpaceList, Switch, Value,
};
use super::value_error::ValueError;
use super::x_address::XAddresses;
use crate::logging::{LogFormat, LogLevel};

/// One setting of the table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the flag and of the key in the file: `http-port`.
    pub name: &'static str,
    /// Further names of the flag under `esker dev`, which other development nodes use. A name of a single character
    /// is its short form.
    pub dev_names: &'static [&'static str],
    /// Heading in the documentation.
    pub section: &'static str,
    /// Help text; lines as in the source.
    pub doc: &'static str,
    /// The form of its value.
    pub kind: &'static str,
    /// Whether the flag without a value means `true`.
    pub is_switch: bool,
    /// Whether the flag may be given several times, each with entries of the list.
    pub is_repeatable: bool,
    /// What separates its entries then.
    pub separator: char,
    /// Text of the default value; empty: none.
    pub default: &'static str,
    /// The default under `esker dev`.
    pub dev_default: &'static str,
    /// Parses a text and returns it in its canonical form.
    pub check: fn(&str) -> Result<String, ValueError>,
    /// The text of a TOML value, not yet checked.
    pub text_of_toml: fn(&DeValue<'_>) -> Result<String, ValueError>,
}

impl Key {
    /// The help text, as one paragraph.
    pub fn text(&self) -> String {
        self.doc.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// The short form of the flag under `esker dev`.
    pub fn dev_short(&self) -> Option<char> {
        self.dev_names.iter().find(|name| name.len() == 1)?.chars().next()
    }

    /// Further long names of the flag under `esker dev`.
    pub fn dev_aliases(&self) -> impl Iterator<Item = &'static str> {
        self.dev_names.iter().copied().filter(|name| name.len() > 1)
    }

    /// The further names as flags: `--port`, `-p`.
    pub fn dev_flags(&self) -> Vec<String> {
        let dashes = |name: &str| if name.len() == 1 { "-" } else { "--" };
        self.dev_names.iter().map(|name| format!("{}{name}", dashes(name))).collect()
    }

    /// The environment variable: `ESKER_HTTP_PORT`.
    pub fn env(&self) -> String {
        format!("{ENV_PREFIX}{}", self.name.to_ascii_uppercase().replace('-', "_"))
    }
}

/// Prefix of the node's environment variables.
pub const ENV_PREFIX: &str = "ESKER_";

/// Variables with that prefix that are not settings: the commit for the build of the program (bin/esker/build.rs),
/// the key with which commands sign, and the program for the packages that start it (docs/testing-with-esker.md).
pub(super) const OTHER_VARIABLES: [&str; 4] =
    ["ESKER_GIT_COMMIT", "ESKER_COMMIT_DATE", "ESKER_PRIVATE_KEY", "ESKER_BIN"];

/// The only setting that the configuration file can't have.
pub(super) const CONFIG: &str = "config";

/// Heading of the settings that only `esker evm` has.
pub const ALONE_SECTION: &str = "The chain of esker evm";

/// Headings of the settings that only chains of one virtual machine have.
pub(super) const XVM_SECTION: &str = "Chains of the asset VM";
pub(super) const EVM_SECTION: &str = "Chains of the EVM";

macro_rules! settings {
    (
        $(#[doc = $struct_doc:literal])+
        struct $struct:ident, table $(#[doc = $table_doc:literal])+ $table:ident;
        $( [$section:literal]
            $( $(#[doc = $doc:literal])+
               $field:ident: $ty:ty = $name:literal, $default:literal $(, dev $dev:literal)?
                   $(, also [$($dev_name:literal),+])?; )+
        )+
    ) => {
        $(#[doc = $struct_doc])+
        #[derive(Clone, Debug)]
        pub struct $struct {
            $($( $(#[doc = $doc])+ pub $field: $ty, )+)+
        }

        $(#[doc = $table_doc])+
        pub const $table: &[Key] = &[
            $($( Key {
                name: $name,
                dev_names: &[$($($dev_name),+)?],
                section: $section,
                doc: concat!($($doc, "\n"),+),
                kind: <$ty as Value>::KIND,
                is_switch: <$ty as Value>::IS_SWITCH,
                is_repeatable: <$ty as Value>::IS_REPEATABLE,
                separator: <$ty as Value>::SEPARATOR,
                default: $default,
                dev_default: [$($dev,)? $default][0],
                check: |text| <$ty as Value>::parse(text).map(|value| value.text()),
                text_of_toml: <$ty as Value>::text_of_toml,
            }, )+)+
        ];

        impl $struct {
            /// Builds the settings from texts that the table's `check` has accepted. The error names the key.
            pub(super) fn from_texts(
                text: impl Fn(&'static str) -> String,
            ) -> Result<Self, (&'static str, ValueError)> {
                Ok(Self {
                    $($( $field: <$ty as Value>::parse(&text($name))
                        .map_err(|reason| ($name, reason))?, )+)+
                })
            }
        }
    };
}

settings! {
    /// The settings of the node as a whole.
    struct Settings, table
    /// The settings of the node, in the order of the documentation.
    KEYS;

    ["Network and data"]
    /// The network: `local`, `test`, `main`, `dev`, or the path of a network file (docs/networks.md).
    network: String = "network", "local", dev "dev";
    /// ID or name of the network. Without `network` it selects main (1), test (5) or local (12345). With `network` it
    /// is a check: the node does not start if the network has another ID.
    network_id: String = "network-id", "";
    /// Folder of all data of the node. Default: `~/.esker/NETWORK`; for `esker dev` a temporary folder, which is
    /// removed when the node stops.
    data_dir: Option<PathBuf> = "data-dir", "";
    /// Maximum size of the store in bytes. It reserves address space; disk space is used as the store grows.
    store_map_size: Positive = "store-map-size", "1099511627776";
    /// Bytes of the data folder's disk that the store leaves free; at most a 32nd of the disk. With less free space
    /// the node makes no blocks and refuses writes until there is room again (docs/operations.md). Answers in files
    /// and exports leave twice as much. 0: no reserve.
    store_disk_reserve: u64 = "store-disk-reserve", "16777216";
    /// Number of bundles that `esker db rewind` can rewind; 0: none. The node keeps undo data for them, at most 256
    /// MiB. A start with 0 deletes the undo data. `esker dev` always keeps the undo data of its whole run.
    rewind_depth: u64 = "rewind-depth", "0";
    /// Aliases of the native asset in arguments.
    native_aliases: CommaList = "native-aliases", "NAT,AVAX";

    ["HTTP"]
    /// Address or host name to listen on. Empty: all addresses of the machine.
    http_host: String = "http-host", "127.0.0.1", also ["host"];
    /// Port to listen on; 0 picks a free one.
    http_port: u16 = "http-port", "9650";
    /// Show a page about the node to browsers that open `/` (docs/dashboard.md). `auto`: for `esker dev` and `esker evm`.
    dashboard: Switch = "dashboard", "auto";
    /// A second port to listen on, where `/` is the C-Chain's JSON-RPC; 0 picks a free one. If its default port is in
    /// use, `esker dev` logs that and starts without it. Empty: none.
    evm_port: Option<u16> = "evm-port", "", dev "8545", also ["port", "p"];
    /// Serve HTTPS and secure websockets only, on every port. `auto`: if `http-tls-cert-file` and `http-tls-key-file`
    /// are set. `false`: plain HTTP, even if they are set.
    http_tls_enabled: Switch = "http-tls-enabled", "auto";
    /// Certificate of the HTTP server in PEM, followed by those of its issuers. A changed file is used for new
    /// connections within seconds.
    http_tls_cert_file: Option<PathBuf> = "http-tls-cert-file", "";
    /// Private key of that certificate in PEM, not encrypted: ECDSA (P-256, P-384), Ed25519 or RSA. Refused if every user
    /// of the machine can read it (mode 0600, or 0640 for a group).
    http_tls_key_file: Option<PathBuf> = "http-tls-key-file", "";
    /// Host names that a request's `Host` may have, besides IP addresses. `private` allows those that no public name
    /// server answers for: names without a dot, such as a service of Compose, and names that end with `.internal` (also
    /// `host.docker.internal`), `.local`, `.localhost`, `.test` or `.home.arpa`. `*` allows all names, and with them DNS
    /// rebinding (docs/security.md).
    http_allowed_hosts: CommaList = "http-allowed-hosts", "localhost", dev "localhost,private";
    /// Origins that browsers may call and open websockets from; each may contain one `*`. Origins in this list (not
    /// only matched by `*`) and origins of this machine may also call methods that take passwords, and the admin API.
    http_allowed_origins: SpaceList = "http-allowed-origins", "*", also ["allow-origin"];
    /// Maximum bytes of a request's body; a larger one gets status 413.
    http_body_limit: Positive = "http-body-limit", "5242880";
    /// Maximum bytes of a request's head, at least 8192; a larger one gets status 431, as does one of more than 100
    /// headers.
    http_head_limit: Positive = "http-head-limit", "65536";
    /// Maximum bytes of request bodies in memory at once, excluding small ones. Above it, requests get status 503.
    /// The requests of one address may use a quarter of it; its further requests wait.
    http_body_memory: Positive = "http-body-memory", "268435456";
    /// Maximum bytes of answers in memory that clients have not read yet, excluding small ones. Above it, the node closes
    /// the connection with the longest unread answer, if that is unread for at least a second. Otherwise the call
    /// gets an error.
    http_reply_memory: Positive = "http-reply-memory", "134217728";
    /// Maximum bytes of unread answers of one connection. A call above it gets the error `response too large`.
    http_connection_reply_memory: Positive = "http-connection-reply-memory", "67108864";
    /// Maximum bytes that calls take at once beside their answers: decoded arguments, changed state, results that are being
    /// made. The first 2 MiB of a call are not counted. Above it, calls wait, and get an error after 20 s.
    http_call_memory: Positive = "http-call-memory", "268435456";
    /// Maximum bytes of `http-call-memory` that the calls of one address may use. Its further calls wait. A call that
    /// alone needs more gets an error.
    http_client_call_memory: Positive = "http-client-call-memory", "134217728";
    /// Maximum bytes of answers in files of the data folder. A result that is too large for memory, such as a trace,
    /// is kept in a file until its client has read it. One answer may use a quarter of this limit. 0: a client gets
    /// the error `response too large` instead.
    http_reply_spool: u64 = "http-reply-spool", "4294967296";
    /// How long a client may take to send the head of a request.
    http_read_header_timeout: Duration = "http-read-header-timeout", "30s";
    /// How long a client may take to send the body of a request.
    http_read_timeout: Duration = "http-read-timeout", "30s";
    /// How long a client may take to receive an answer.
    http_write_timeout: Duration = "http-write-timeout", "30s";
    /// How long a connection may stay open without a request.
    http_idle_timeout: Duration = "http-idle-timeout", "2m";
    /// Maximum number of connections. A further one replaces the longest-idle connection.
    http_max_connections: Positive = "http-max-connections", "4096";
    /// Maximum number of requests in progress. Above it, requests get status 503.
    http_max_in_flight: Positive = "http-max-in-flight", "1024";
    /// How long running requests may continue when the node stops.
    http_shutdown_timeout: Duration = "http-shutdown-timeout", "500ms";
    /// Units of work that an address may use each second: a request has a cost of at least one (docs/public.md). Above it
    /// requests get status 429. 0: no limit.
    http_rate_limit: u32 = "http-rate-limit", "0";
    /// Maximum number of units that an address may use at once, after it has used none for a while. Without `http-rate-limit` it has
    /// no effect.
    http_rate_burst: Positive = "http-rate-burst", "2000";
    /// Addresses of the proxies in front of the node, and ranges such as `10.0.0.0/8`, together less than half of all. Their requests count for the address
    /// that `http-client-address-header` names.
    http_trusted_proxies: IpRanges = "http-trusted-proxies", "";
    /// Header in which those proxies name the client's address: `X-Forwarded-For`, `X-Real-IP` or another one of the
    /// same form. The node ignores it in requests of others. Empty: none.
    http_client_address_header: String = "http-client-address-header", "";
    /// Serve the public: applies the settings of docs/public.md that the configuration does not set. Refused by
    /// `esker dev`, and together with settings that serve what a public node withholds.
    public: bool = "public", "false";

    ["APIs and indexes"]
    /// Serve the admin API at `/ext/admin`: aliases, log levels, profiles. Not for a node that others can reach.
    api_admin_enabled: bool = "api-admin-enabled", "false";
    /// Folder of the profiles that the admin API writes. Profiles of a chain go into a folder below it with the chain's
    /// name, unless the chain has `admin-api-dir`. Default: `profiles` in the data folder.
    profile_dir: Option<PathBuf> = "profile-dir", "";
    /// Serve the keystore API. It keeps users' private keys on the node, and the node signs with them. The
    /// operator of the node can read its users' passwords. `auto`: on for `local`, `dev` and custom networks,
    /// unless the node listens on an address that others can reach.
    api_keystore_enabled: Switch = "api-keystore-enabled", "auto";
    /// Serve the keystore on networks `main` and `test` although others can reach the address that the node listens
    /// on. They can then try passwords, which travel in the clear without TLS. With
    /// `api-keystore-enabled` and without this setting, such a node does not start. The same goes for `internal-personal`
    /// in `eth-apis`, on every network.
    allow_keystore_on_public_address: bool = "allow-keystore-on-public-address", "false";
    /// Serve the methods of `xvm`, `wallet` and `nat` that take a user's password.
    api_key_methods_enabled: bool = "api-key-methods-enabled", "true";
    /// Maximum number of passwords that the keystore checks at a time; each takes 64 MiB and a core for some 60 ms.
    keystore_hashes_at_once: Positive = "keystore-hashes-at-once", "2";
    /// Maximum number of calls that wait for a password check. Clients take turns. Above it, the newest call of the
    /// client with the most waiting calls is refused.
    keystore_hash_queue: Positive = "keystore-hash-queue", "128";
    /// How long a call waits for a password check before it is refused.
    keystore_hash_wait: Duration = "keystore-hash-wait", "20s";
    /// Serve `/ext/index/CHAIN/{block,tx,vtx}`.
    index_enabled: bool = "index-enabled", "false";
    /// Index transactions by address (`getAddressTxs`), on every chain of the asset VM without its own setting. If it
    /// is enabled later, the node fills the index while it serves.
    index_transactions: bool = "index-transactions", "true";

    /// The reply of `web3_clientVersion`. Default: the name `esker` and the version. `esker dev` adds the prefix
    /// `anvil/`, by which tools for anvil and Hardhat Network recognize a development node.
    client_version: String = "client-version", "";

    ["Followers"]
    /// Follow these nodes instead of making blocks, the preferred one first (docs/followers.md): `http://HOST:PORT`
    /// of an Esker with `api-sync-enabled`, or `avalanchego+http://HOST:PORT` of an AvalancheGo with its index;
    /// `https` for TLS. Empty: the node makes the blocks itself.
    follow: CommaList = "follow", "";
    /// Certificates, in PEM, by which sources with `https` are checked: those of authorities, or of the sources themselves.
    /// Default: the authorities that this machine trusts.
    follow_ca_file: Option<PathBuf> = "follow-ca-file", "";
    /// Begin with a snapshot of the source's state, without the blocks before it, if the data folder has no final
    /// bundles (docs/followers.md). `--snapshot` is a short form. Only together with `follow`, and not if the source
    /// is an AvalancheGo node.
    follow_snapshot: bool = "follow-snapshot", "false";
    /// Time after which the node tries the next source, if a source sends no record, or no bundle although it reports
    /// further ones. An honest source sends a record every second.
    follow_idle_timeout: Duration = "follow-idle-timeout", "10s";
    /// How long the node may be behind its sources before its health check fails.
    follow_max_lag: Duration = "follow-max-lag", "1m";
    /// Refuse transactions, and methods that make them. Without it a follower passes transactions on to its sources. Only
    /// together with `follow`.
    read_only: bool = "read-only", "false";
    /// Serve followers: `/ext/sync/bundles` streams the final bundles of blocks, `/ext/sync/snapshot` sends the state. Not with `rewind-depth`.
    api_sync_enabled: bool = "api-sync-enabled", "false";
    /// Addresses of followers, and ranges such as `10.0.0.0/8`. Others get status 403.
    sync_allowed_clients: IpRanges = "sync-allowed-clients", "127.0.0.0/8,::1";
    /// Most followers at a time.
    sync_max_followers: Positive = "sync-max-followers", "64";

    ["Validators"]
    /// File with the key of this validator, on a network with validators (docs/validators.md).
    validator_key: Option<PathBuf> = "validator-key", "";
    /// File with the key of this follower, if it is one of the validators' peers and the network file names it
    /// (docs/validators.md). Replaces `follow`.
    peer_key: Option<PathBuf> = "peer-key", "";
    /// Declares that the validator's key has never voted, in any folder. It then votes at once, although the data
    /// folder has no journal of its votes. Only for the first start of a network, or after all validators have lost
    /// their votes.
    validator_key_is_new: bool = "validator-key-is-new", "false";
    /// Address and port at which the other validators reach this one, such as `0.0.0.0:9700`. Empty: its address in the
    /// network file, or its port on all addresses if that has a name.
    validator_listen: String = "validator-listen", "";
    /// File with agreed changes of the validators, as `esker network rotate --out` writes it. Only a validator that
    /// is not in the network file needs it; other nodes receive the changes from their peers or sources.
    validator_changes: Option<PathBuf> = "validator-changes", "";

    ["C-Chain of development networks"]
    /// Minimum time between two blocks. 0s: a block as soon as there is work.
    block_time: Seconds = "block-time", "0s";
    /// On network `dev`: the exact fee rules, with a variable base fee and a cost of blocks in quick succession.
    /// Other networks always have them, unless their file changes them. A fork of the C-Chain of network 1 or 5 has them unless this
    /// is `false`.
    real_fees: bool = "real-fees", "false";
    /// EVM chain ID. Default: the network's. Not on networks 1 and 5. A kept data folder requires the same
    /// value at each start.
    chain_id: Option<u64> = "chain-id", "";
    /// Gas limit of blocks. Default: the network's, which is 30000000 under `esker dev` unless `real-fees` is set. Not on
    /// networks 1 and 5. A kept data folder requires the same value at each start.
    gas_limit: Option<u64> = "gas-limit", "";
    /// Under `esker dev`: if a sent transaction fails in its block, answer with an error instead of its hash, as
    /// Hardhat's own node does. `auto`: only for programs that call themselves `hardhat` in their `User-Agent`, as
    /// Hardhat does.
    refuse_failed_sends: Switch = "refuse-failed-sends", "auto";

    ["Accounts and start of the development network"]
    /// Number of accounts that get a balance on X and on C, from 1 to 1000. A kept data folder requires the same
    /// value at each start, also of the next three settings.
    accounts: Option<u64> = "accounts", "", dev "10", also ["a"];
    /// Balance of each account, on X and on C, in whole units of the native asset. All of them together get at most
    /// 299999999 on each chain.
    balance: Option<u64> = "balance", "", dev "10000";
    /// Mnemonic of the accounts: 12 to 24 words of BIP-39. The screen shows it and the keys: do not use a mnemonic
    /// that owns anything elsewhere.
    mnemonic: String = "mnemonic", "", dev "test test test test test test test test test test test junk",
        also ["m"];
    /// BIP-32 path of the accounts, with or without a slash at its end. The account's number, from 0, is added to it.
    derivation_path: String = "derivation-path", "", dev "m/44'/60'/0'/0";
    /// Base fee in wei of the C-Chain's first block and of all others. Default: 1000000000. Not with `real-fees`. A kept data
    /// folder requires the same value at each start.
    base_fee: Option<u64> = "base-fee", "", also ["block-base-fee-per-gas"];
    /// Least gas price in wei that the C-Chain suggests (`evm_gasPrice`). It can't be less than the base fee. Cheaper
    /// transactions are mined, too, if they pay the base fee. Not with `real-fees`. Under `esker evm` only with a fork before `london`.
    gas_price: Option<u64> = "gas-price", "";
    /// Unix seconds of the C-Chain's genesis, from 1607144400, under `esker evm` from 0. The node's clock begins at this time, and at a later
    /// start of a kept data folder at the time of the last block. A kept data folder requires the same value at each
    /// start. Default: the time of the first start, which a kept data folder keeps, and the clock of the machine.
    timestamp: Option<u64> = "timestamp", "";
    /// Number of the first block under `esker evm`. There are no blocks below it. A kept data folder requires the same value at each
    /// start.
    number: u64 = "number", "0";
    /// File with the initial content of the network besides its accounts: assets, NFTs, UTXOs, exports, contracts
    /// (docs/fixtures.md). It is applied at the first start of a data folder.
    fixture: Option<PathBuf> = "fixture", "";
    /// File with a state that is loaded at the start, written by `dump-state` or by anvil (docs/from-anvil.md). If it
    /// is a folder, its file `state.json`. Not with `data-dir`, which keeps the state anyway.
    load_state: Option<PathBuf> = "load-state", "";
    /// File to which the state is written when the node stops, in anvil's form. If it is a folder, its file
    /// `state.json`. A start is refused if the file can't be written.
    dump_state: Option<PathBuf> = "dump-state", "";
    /// Both `load-state`, if the file exists, and `dump-state`.
    state: Option<PathBuf> = "state", "";
    /// Write the file of `dump-state` or `state` at these intervals, too. 0s: only when the node stops.
    state_interval: Seconds = "state-interval", "0s";
    /// Write the states of the up to 500 blocks before the last one to the file of `dump-state` or `state`, too. A node that
    /// loads the file then has them at these blocks.
    preserve_historical_states: bool = "preserve-historical-states", "false";
    /// List the account of the well-known key after those of the mnemonic (`evm_accounts`). The node signs for it in any case.
    list_well_known_account: bool = "list-well-known-account", "false";
    /// Print neither the screen nor the events below it. Errors and log lines still go to standard error. Not with
    /// `json`.
    silent: bool = "silent", "false", also ["quiet", "q"];
    /// Show all endpoints, IDs and addresses on the screen of `esker dev`. Not with `json` or `silent`.
    verbose: bool = "verbose", "false";
    /// Do not show what contracts print with `console.log`, and do not keep it.
    no_console: bool = "no-console", "false", also ["disable-console-log", "no-console-log"];
    /// Folders of artifacts: Hardhat's `artifacts`, Foundry's `out`, Ignition's `ignition/deployments`. The flag may be given
    /// several times; a comma within a path is written `\,`. Contracts, functions, arguments, events and errors have their names
    /// on the screen and in the texts of errors (docs/testing-with-esker.md). Files that change are read again.
    artifacts: PathList = "artifacts", "";

    ["The chain of esker evm"]
    /// The fork whose rules the chain has from its first block on: `frontier` to `osaka`, `prague` for example. Default: the newest,
    /// `osaka`. A kept data folder requires the same value at each start.
    hardfork: String = "hardfork", "";
    /// The chain's genesis file, in geth's format, which names forks, accounts and the first block. Without it the chain has
    /// accounts for development and the rules of `hardfork`.
    genesis: Option<PathBuf> = "genesis", "";
    /// File of blocks that follow genesis: their RLP one after the other, compressed if the name ends with `.gz`. They are
    /// imported before the node answers. Those that it has already are skipped.
    import: Option<PathBuf> = "import", "";
    /// Make no blocks: transactions that are sent wait in the pool. The chain has no controls either.
    no_build: bool = "no-build", "false";
    /// Further addresses at which the node listens, at the same port; at a free one each if the port is 0.
    http_further_hosts: CommaList = "http-further-hosts", "";
    /// Folder in which the temporary data folder is made. It is created if it is missing, and stays. Default: the system's
    /// (`TMPDIR`). Not with `data-dir`.
    temporary_folder: Option<PathBuf> = "temporary-folder", "";
    /// Path of a Unix socket at which the chain's JSON-RPC is served, too. Only the user who runs the node can connect.
    ipc: Option<PathBuf> = "ipc", "";
    /// File in geth's genesis format. The accounts of its `alloc` are added to block 0, in place of those for development with
    /// the same address. A kept data folder requires the same value at each start, also of the next two settings.
    alloc: Option<PathBuf> = "alloc", "";
    /// Maximum bytes of a contract's code, and half of the maximum of init code. Default: Ethereum's, 24576. A transaction
    /// has at most 131072 bytes in any case.
    code_size_limit: Option<u64> = "code-size-limit", "";
    /// Let a transaction have more gas than Osaka allows (16777216, EIP-7825).
    no_tx_gas_limit: bool = "no-tx-gas-limit", "false";
    /// Make blocks on request only (`evm_mine`), until a control changes that.
    no_mining: bool = "no-mining", "false";
    /// Make a block at these intervals, with or without transactions, and no others. 0s: none.
    mine_interval: Seconds = "mine-interval", "0s";
    /// Make a block as soon as there is work in addition to those of `mine-interval`.
    mixed_mining: bool = "mixed-mining", "false";
    /// Numbers of `evm_setIntervalMining` are milliseconds, as Hardhat's, and not seconds. `esker hardhat` sets it.
    interval_in_ms: bool = "interval-in-ms", "false";
    /// Answer as Hardhat's node does where anvil answers otherwise: replies of controls, errors of code that fails, gas of sends
    /// without `gas`; and refuse a transaction that the next block can't have, while blocks are made as soon as there is
    /// work. Not with `anvil-answers`. `esker hardhat` sets it.
    hardhat_answers: bool = "hardhat-answers", "false";
    /// Answer as anvil does where geth answers otherwise: errors of code that fails and of transactions that are refused,
    /// receipts, fees and gas of transactions without them, and a send whose code fails. `esker anvil` sets it.
    anvil_answers: bool = "anvil-answers", "false";
    /// Refuse a transaction that offers less than the base fee of the next block in place of letting it wait, and take a call
    /// that does, as anvil. `esker anvil` sets it.
    refuse_low_fees: bool = "refuse-low-fees", "false";
    /// Least tip in wei a gas that is suggested (`evm_maxPriorityFeePerGas`), and that a transaction has whose sender names
    /// none. Not with `gas-price`. `esker anvil` and `esker hardhat` set 1000000000. Default: 1.
    suggested_tip: Option<u64> = "suggested-tip", "";
    /// Take transactions into blocks in the order of their arrival, whatever they pay.
    order_by_arrival: bool = "order-by-arrival", "false";
    /// Most transactions of a block that is made as soon as there is work. 0: only the gas limit bounds them, as it does those of
    /// blocks on request and at intervals.
    max_block_transactions: u64 = "max-block-transactions", "0";
    /// Take transactions into the pool whatever their senders own. One that its sender can't pay for when a block takes
    /// it is dropped.
    no_pool_balance_checks: bool = "no-pool-balance-checks", "false";
    /// Send transactions of every account without its key, as `anvil_autoImpersonateAccount` does.
    auto_impersonate: bool = "auto-impersonate", "false";
    /// Blocks from the last one back to the one that the tag `safe` means; `finalized` is twice as far back, both at least block 0.
    /// 0: both are the last block. `esker anvil` sets 32.
    slots_in_an_epoch: u64 = "slots-in-an-epoch", "0";
    /// Print the calls and events of each transaction before it, and of each `evm_call` and `evm_estimateGas`, as Foundry does. Each
    /// runs again for that.
    print_traces: bool = "print-traces", "false";
    /// Leave out the CREATE2 deployer, which block 0 has at 0x4e59b44847b379578588920cA78FbF26c0B4956C otherwise. A kept data
    /// folder requires the same value at each start.
    no_create2_deployer: bool = "no-create2-deployer", "false";
    /// Most bytes of memory that the code of a transaction or a call takes; code that takes more runs out of gas. Default: only gas
    /// limits it. A kept data folder requires the same value at each start.
    memory_limit: Option<u64> = "memory-limit", "";
    /// Keep the states of the last block and of this many blocks before it only. Default: all states are kept.
    state_window: Option<u64> = "state-window", "";

    ["The fork of another chain"]
    /// Begin on a block of this chain: the URL of its EVM JSON-RPC, under `esker dev` that of a C-Chain. Several, separated by
    /// commas, stand in for each other. The state is read from there as it is needed (docs/forking.md).
    fork_url: CommaList = "fork-url", "";
    /// Begin on the block of this file, which `esker fork pack` has written, and ask nobody. Not with `fork-url`.
    fork_from: Option<PathBuf> = "fork-from", "";
    /// Folder of the cache that all forks share: the next fork of the same block begins warm. `off`: none. Default:
    /// `esker/forks` in the user's folder of caches (`XDG_CACHE_HOME`, or `.cache` in `HOME`).
    fork_cache: String = "fork-cache", "";
    /// The block to begin on: a number, a hash, `latest`, `safe` or `finalized`.
    fork_block: String = "fork-block", "latest";
    /// Header of each request to the source, `Name: value`. The flag may be given several times; in a file several headers are an array.
    fork_header: LineList = "fork-header", "";
    /// Whether values are read with proofs: `auto`: if the source gives them.
    fork_proofs: Switch = "fork-proofs", "auto";
    /// Leave the accounts for development with what they have at the source. So state roots are those that the other chain
    /// would have.
    fork_keep_balances: bool = "fork-keep-balances", "false";
    /// Most calls a second to the source. 0: no limit.
    fork_rate: u32 = "fork-rate", "0";
    /// Most retries of a request to the source.
    fork_retries: u32 = "fork-retries", "8";
    /// The time that one request to the source may take, at most 10 minutes.
    fork_timeout: Seconds = "fork-timeout", "20s";
    /// The wait before the first retry of a request to the source, at most 1 minute. It doubles with each retry, up to 8 s.
    fork_backoff: Seconds = "fork-backoff", "250ms";

    ["The X-Chain of another network"]
    /// Begin with unspent outputs of this X-Chain, under their own IDs, with the assets that they are of: the URL of an AvalancheGo or an
    /// Esker, or of its X-Chain. They are read at the first start (docs/forking.md). Only under `esker dev`.
    fork_x: String = "fork-x", "";
    /// The addresses whose outputs these are, separated by commas: `X-avax1...`. The flag may be given several times. At most 1000.
    fork_x_address: XAddresses = "fork-x-address", "";

    ["Logging"]
    /// Level of the log files.
    log_level: LogLevel = "log-level", "info";
    /// Level of the terminal (standard error).
    log_display_level: LogLevel = "log-display-level", "info", dev "warn";
    /// Format of the lines: `auto` is text, with colours on a terminal.
    log_format: LogFormat = "log-format", "auto";
    /// Folder of the log files, one per chain and `main.log`. Default: `logs` in the data folder. With a temporary
    /// data folder no log files are written unless this is set.
    log_dir: Option<PathBuf> = "log-dir", "";
    /// Size in MiB at which a log file is rotated.
    log_rotater_max_size: Positive = "log-rotater-max-size", "8";
    /// Rotated files kept of each log.
    log_rotater_max_files: u32 = "log-rotater-max-files", "7";
    /// Time after which a log file is rotated, whatever its size, counted from its first line; at the next line. 0: files
    /// are rotated by size only.
    log_rotater_interval: Duration = "log-rotater-interval", "0s";
    /// Days after which a rotated log file is removed; 0: only `log-rotater-max-files` counts.
    log_rotater_max_age: u32 = "log-rotater-max-age", "0";

    ["Start"]
    /// Configuration file (TOML). It may contain every key except this one.
    config: Option<PathBuf> = "config", "";
    /// File that is written once the node is ready, with the line that `--json` prints.
    ready_file: Option<PathBuf> = "ready-file", "";
    /// Print one line of JSON with the bound addresses once the node answers, and nothing else.
    json: bool = "json", "false";
    /// Threads that answer requests, at most 1024; calls that take long have as many more. 0: one for each processor.
    threads: u64 = "threads", "0";
    /// Stop when standard input ends. A program that starts a node with it also ends the node, even if the program is
    /// killed.
    stop_with_input: bool = "stop-with-input", "false";
}

settings! {
    /// The settings of one chain. An empty value or `auto` follows the node or the network.
    struct ChainSettings, table
    /// The settings of a chain: keys of its table `[chains.NAME]`, NAME being an alias, the name or the ID.
    CHAIN_KEYS;

    ["Any chain"]
    /// Level of the chain's log file. Default: `log-level` of the node.
    log_level: Option<LogLevel> = "log-level", "";
    /// Level of the chain on the terminal. Default: `log-display-level` of the node.
    log_display_level: Option<LogLevel> = "log-display-level", "";

    ["Chains of the asset VM"]
    /// Index transactions by address. `auto`: like `index-transactions` of the node.
    index_transactions: Switch = "index-transactions", "auto";

    ["Chains of the EVM"]
    /// Services of the endpoint `/rpc`, by their names; empty: the default ones, and under `esker dev` also
    /// `internal-tx-pool`, `internal-account` and `internal-personal` for the accounts that the node holds,
    /// `debug-tracer`, `debug-handler`, `debug`, `internal-debug`, `ots` and `admin`.
    eth_apis: CommaList = "eth-apis", "";
    /// Keep the state of the last 32 blocks only. `auto`: `false` under `esker dev`, otherwise `true`.
    pruning_enabled: Switch = "pruning-enabled", "auto";
    /// Number of last blocks for which a node that keeps all states serves proofs; 0: all blocks.
    historical_proof_query_window: u64 = "historical-proof-query-window", "43200";
    /// Include atomic transactions in replies that show blocks: `atomicTransactions`.
    atomic_transactions: bool = "atomic-transactions", "false";
    /// Show the time of its block in each log, `blockTimestamp`. `auto`: under `esker dev` and on chains with Ethereum's
    /// rules.
    log_timestamps: Switch = "log-timestamps", "auto";
    /// Store the preimages of hashed addresses and storage keys, for the methods of `debug` that show them. Accounts
    /// and slots that were last changed before this was set stay unknown. `auto`: enabled for `esker dev`.
    preimages_enabled: Switch = "preimages-enabled", "auto";
    /// Index the transactions that touched each address, for `ots_searchTransactionsBefore` and
    /// `ots_searchTransactionsAfter` (docs/api/evm-otterscan.md). It begins with the first block that the node accepts
    /// with this setting. `auto`: enabled under `esker dev` and `esker evm`.
    index_addresses: Switch = "index-addresses", "auto";
    /// Maximum gas of a call; 0: no limit.
    rpc_gas_cap: u64 = "rpc-gas-cap", "50000000";
    /// Maximum that a transaction sent through the node may pay for gas, in whole native units; 0: no limit.
    rpc_tx_fee_cap: u64 = "rpc-tx-fee-cap", "100";
    /// Longest time of a call; 0s: as long as a client waits.
    api_max_duration: Duration = "api-max-duration", "0s";
    /// Maximum bytes of a request's body; 0: 5 MiB.
    evm_http_body_limit: u64 = "http-body-limit", "0";
    /// Maximum number of requests of a batch; 0: no limit.
    batch_request_limit: u64 = "batch-request-limit", "1000";
    /// Serve the methods of the endpoint `/rpc` on the websocket, too. Otherwise the websocket serves only
    /// subscriptions.
    ws_http_methods_enabled: bool = "ws-http-methods-enabled", "true";
    /// Answer that a block above the last one is unknown, instead of not final.
    allow_unfinalized_queries: bool = "allow-unfinalized-queries", "false";
    /// Accept transactions without a chain ID (EIP-155). `auto`: under `esker dev`.
    allow_unprotected_txs: Switch = "allow-unprotected-txs", "auto";
    /// Hashes of transactions without a chain ID that are accepted nevertheless.
    allow_unprotected_tx_hashes: CommaList = "allow-unprotected-tx-hashes",
        "0xfefb2da535e927b85fe68eb81cb2e4a5827c905f78381a01ef2322aa9b0aee8e";
    /// Least suggested tip, wei.
    tx_pool_price_limit: u64 = "tx-pool-price-limit", "1";
    /// Percentage of the suggested tip in the slow price option.
    price_options_slow_fee_percentage: u64 = "price-options-slow-fee-percentage", "95";
    /// Percentage of the suggested tip in the fast price option.
    price_options_fast_fee_percentage: u64 = "price-options-fast-fee-percentage", "105";
    /// Greatest tip of the price options, wei.
    price_options_max_tip: u64 = "price-options-max-tip", "20000000000";
    /// Percentage by which a transaction must outbid one with the same nonce to replace it.
    tx_pool_price_bump: Positive = "tx-pool-price-bump", "10";
    /// Executable transactions that an account may have even if all accounts together have `tx-pool-global-slots`.
    tx_pool_account_slots: Positive = "tx-pool-account-slots", "16";
    /// Executable transactions of all accounts; a further one must outbid the cheapest, which is dropped.
    tx_pool_global_slots: Positive = "tx-pool-global-slots", "5120", dev "200000";
    /// Queued transactions of an account, which are not executable yet.
    tx_pool_account_queue: Positive = "tx-pool-account-queue", "64", dev "200000";
    /// Queued transactions of all accounts, which are not executable yet.
    tx_pool_global_queue: Positive = "tx-pool-global-queue", "1024", dev "200000";
    /// How long a queued transaction is kept.
    tx_pool_lifetime: Duration = "tx-pool-lifetime", "10m";
    /// Serve the chain's admin API at `/ext/bc/CHAIN/admin`: profiles, log level, configuration. Not for a node that
    /// others can reach.
    admin_api_enabled: bool = "admin-api-enabled", "false";
    /// First part of the path of the chain's folder of profiles, as in the reference: with `/var/` the folder is
    /// `/var/_coreth_performance_C`. Empty: a folder with the chain's name in `profile-dir`.
    admin_api_dir: String = "admin-api-dir", "";
    /// Let clients of the service `debug-handler` name files outside the chain's folder of profiles. They can then
    /// replace every file that the node may write.
    debug_files_anywhere: bool = "debug-files-anywhere", "false";
    /// Run tracers in JavaScript that clients send, each in a separate process. Built-in tracers always run. `auto`:
    /// enabled under `esker dev`.
    tracer_scripts_enabled: Switch = "tracer-scripts-enabled", "auto";
    /// Maximum number of blocks of a query of logs; 0: no limit.
    api_max_blocks_per_request: u64 = "api-max-blocks-per-request", "0";
    /// Folder in which `admin_exportChain` writes files, and from which `admin_importChain` reads them; a relative
    /// path is below the data folder. `/` allows files anywhere.
    chain_files_dir: String = "chain-files-dir", "chain-files";
    /// Folder of the accounts' encrypted keys, in geth's format; a relative path is below the data folder. Default:
    /// `keystore`, if `internal-personal` is served.
    keystore_directory: String = "keystore-directory", "";
    /// Let clients unlock those accounts for later calls, which then need no password, even if other machines can
    /// reach the node, or with `public`. If only this machine can reach the node, unlocking is always allowed.
    keystore_insecure_unlock_allowed: bool = "keystore-insecure-unlock-allowed", "false";

    ["Further chains"]
    /// Virtual machine of a chain that is not part of the network by default: `xvm` or `evm`. With this key the table
    /// declares a chain; its ID depends on its name and genesis.
    vm: String = "vm", "";
    /// File with its genesis. Asset VM: JSON in the format of `genesisData` of `xvm.buildGenesis`, addresses without a
    /// chain prefix. EVM: genesis JSON; the chain's ID depends on its exact bytes.
    genesis: Option<PathBuf> = "genesis", "";
    /// EVM: the rules of its blocks: `c-chain` or `ethereum`. With `ethereum` the genesis has geth's format; the chain has no
    /// atomic transactions, and its fees follow from its genesis (docs/ethereum.md).
    rules: String = "rules", "c-chain";
    /// Its aliases; the first is the prefix of its addresses.
    aliases: CommaList = "aliases", "";
    /// Asset VM: fee of a transaction in nano-units of its first genesis asset. Default: the network's.
    tx_fee: Option<u64> = "tx-fee", "";
    /// Asset VM: fee of a transaction that creates an asset. Default: the network's.
    create_asset_tx_fee: Option<u64> = "create-asset-tx-fee", "";
    /// EVM: the asset that is the chain's coin, as an ID or as `CHAIN:ALIAS`, an asset of that chain's genesis. Empty: a
    /// coin of its own, which never leaves the chain.
    asset: String = "asset", "";
    /// EVM: chains with which that asset is exchanged, by alias, name or ID.
    peers: CommaList = "peers", "";
    /// EVM: gas limit of blocks. Default: the C-Chain's.
    gas_limit: Option<u64> = "gas-limit", "";
    /// EVM: gas in ten seconds at which the base fee does not change; up to Etna. Default: the C-Chain's.
    target_gas: Option<u64> = "target-gas", "";
    /// EVM: least base fee in wei, also that of the first block. Default: the C-Chain's.
    min_base_fee: Option<u64> = "min-base-fee", "";
    /// EVM: amount by which the block gas cost rises for each second that a block is too early. Default: the
    /// C-Chain's.
    block_gas_cost_step: Option<u64> = "block-gas-cost-step", "";
}

/// Settings of the reference's EVM chain without effect here: they control its caches, tries, sync, gossip and
/// profiler. They are accepted, and one log line lists them.
pub const UNUSED_REFERENCE_KEYS: [&str; 37] = [
    "accepted-cache-size",
    "accepted-queue-limit",
    "allow-missing-tries",
    "commit-interval",
    "continuous-profiler-dir",
    "continuous-profiler-frequency",
    "continuous-profiler-max-files",
    "inspect-database",
    "keystore-external-signer",
    "local-txs-enabled",
    "log-json-format",
    "metrics-expensive-enabled",
    "offline-pruning-bloom-filter-size",
    "offline-pruning-enabled",
    "populate-missing-tries",
    "populate-missing-tries-parallelism",
    "pull-gossip-frequency",
    "push-gossip-frequency",
    "regossip-frequency",
    "skip-tx-indexing",
    "skip-upgrade-check",
    "snapshot-cache",
    "snapshot-verification-enabled",
    "snapshot-wait",
    "snowman-api-enabled",
    "state-history",
    "state-sync-commit-interval",
    "state-sync-enabled",
    "state-sync-min-blocks",
    "state-sync-request-size",
    "transaction-history",
    "trie-clean-cache",
    "trie-dirty-cache",
    "trie-dirty-commit-target",
    "tx-lookup-limit",
    "tx-pool-journal",
    "warp-api-enabled",
];

/// The key with this name.
pub fn find(table: &'static [Key], name: &str) -> Option<&'static Key> {
    table.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_default_is_a_value_and_every_name_is_there_once() {
        for section in [XVM_SECTION, EVM_SECTION] {
            assert!(CHAIN_KEYS.iter().any(|key| key.section == section), "{section}");
        }
        for table in [KEYS, CHAIN_KEYS] {
            let mut names = BTreeSet::new();
            for key in table {
                assert!(names.insert(key.name), "{} is there twice", key.name);
                assert!(!key.doc.trim().is_empty(), "{}", key.name);
                for default in [key.default, key.dev_default] {
                    assert_eq!((key.check)(default).as_deref(), Ok(default), "{}", key.name);
                }
            }
        }
        let names = KEYS.iter().flat_map(|key| key.dev_names.iter().chain([&key.name]));
        let distinct: BTreeSet<_> = names.clone().collect();
        assert_eq!(names.count(), distinct.len(), "a further name is there twice");
        let evm_port = find(KEYS, "evm-port").unwrap();
        assert_eq!(
            (evm_port.dev_short(), evm_port.dev_flags().join(" ")),
            (Some('p'), "--port -p".to_owned())
        );
        assert_eq!(find(KEYS, "http-port").map(Key::env).as_deref(), Some("ESKER_HTTP_PORT"));
    }
}
