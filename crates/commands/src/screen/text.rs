//! The screen itself: at most 80 columns, sections, and first what a user copies.

use std::fmt::Write as _;

use esker_settings::networks::accounts::{WELL_KNOWN_KEY, well_known};
use esker_settings::networks::{DEV_MNEMONIC, DevAccounts};

use super::{Ready, fork_lines};

/// Columns of the screen. A key, an ID or a URL is never broken: one that is longer has a line of its own.
const COLUMNS: usize = 80;
/// Columns of the names of values.
const NAMES: usize = 19;
/// Below each heading, as tools made for development know it.
const RULE: &str = "==================";
/// Most entries of a fixture that are shown.
const MAX_FIXTURE_LINES: usize = 20;

/// The address at which commands look for a node by default.
const DEFAULT_URL: &str = "http://127.0.0.1:9650";

/// Escape sequences, or empty texts.
struct Style {
    bold: &'static str,
    dim: &'static str,
    link: &'static str,
    warn: &'static str,
    off: &'static str,
}

const PLAIN: Style = Style { bold: "", dim: "", link: "", warn: "", off: "" };
const COLOURS: Style =
    Style { bold: "\x1b[1m", dim: "\x1b[2m", link: "\x1b[36m", warn: "\x1b[33m", off: "\x1b[0m" };

/// The screen of `esker dev` or `esker evm`. The last line says where it listens, which programs wait for.
pub fn render(ready: &Ready, colours: bool) -> String {
    let style = if colours { COLOURS } else { PLAIN };
    let mut screen = Screen { out: String::new(), ready, style };
    // Writing to a String can't fail.
    let _ok = screen.write();
    screen.out
}

struct Screen<'a> {
    out: String,
    ready: &'a Ready,
    style: Style,
}

impl Screen<'_> {
    fn write(&mut self) -> std::fmt::Result {
        self.beginning()?;
        self.dashboard()?;
        self.evm()?;
        if self.ready.has_x_chain {
            self.x_chain()?;
        }
        self.fork()?;
        if let Some(funded) = &self.ready.dev_accounts {
            self.accounts(funded)?;
        }
        self.fixture()?;
        if self.ready.is_verbose {
            self.details()?;
        }
        self.end()
    }

    fn beginning(&mut self) -> std::fmt::Result {
        let Ready { version, network, network_id, ready_ms, .. } = self.ready;
        let (bold, off) = (self.style.bold, self.style.off);
        let what = match self.ready.has_x_chain {
            true => format!("network {network} ({network_id})"),
            false => "one chain of the EVM".to_owned(),
        };
        writeln!(self.out, "\n{bold}Esker {version}{off}  {what}, ready in {ready_ms} ms")?;
        match &self.ready.data_dir {
            Some(path) => writeln!(self.out, "Data in {path}"),
            None => writeln!(self.out, "Data is removed at the end: --data-dir DIR keeps it"),
        }
    }

    fn dashboard(&mut self) -> std::fmt::Result {
        match self.ready.dashboard() {
            Some(url) => self.value("Dashboard", &url),
            None => Ok(()),
        }
    }

    /// The port that tools use by default belongs to another program.
    fn port_in_use(&mut self) -> std::fmt::Result {
        let Some(address) = &self.ready.evm_in_use else { return Ok(()) };
        let (warn, off) = (self.style.warn, self.style.off);
        writeln!(
            self.out,
            "\n{warn}Another program has {address}: tools that use it don't reach this node."
        )?;
        writeln!(
            self.out,
            "Stop it, or give this node another port: --port 8600, 0 for a free one.{off}"
        )
    }

    fn heading(&mut self, text: &str) -> std::fmt::Result {
        let (bold, off) = (self.style.bold, self.style.off);
        writeln!(self.out, "\n{bold}{text}{off}\n{RULE}")
    }

    /// A name with its value; on the next line if both do not fit.
    fn value(&mut self, name: &str, value: &str) -> std::fmt::Result {
        let (link, off) = match value.contains("://") {
            true => (self.style.link, self.style.off),
            false => ("", ""),
        };
        let name = format!("{name}:");
        if NAMES + value.chars().count() > COLUMNS {
            return writeln!(self.out, "{name}\n{link}{value}{off}");
        }
        writeln!(self.out, "{name:<NAMES$}{link}{value}{off}")
    }

    /// Lines with the numbers of accounts.
    fn numbered(&mut self, lines: impl Iterator<Item = String>) -> std::fmt::Result {
        for (number, line) in lines.enumerate() {
            writeln!(self.out, "({number}) {line}")?;
        }
        Ok(())
    }

    fn evm(&mut self) -> std::fmt::Result {
        let ready = self.ready;
        self.heading(if ready.has_x_chain { "EVM, the C-Chain" } else { "EVM" })?;
        match ready.evm_rpc() {
            Some((rpc, ws)) => {
                self.value("RPC URL", &rpc)?;
                self.value("Websocket", &ws)?;
            }
            None => writeln!(self.out, "not served by this version")?,
        }
        self.value("Chain ID", &ready.evm_chain_id.to_string())?;
        match ready.hardfork {
            Some(name) => self.value("Hardfork", name),
            None => Ok(()),
        }
    }

    fn fork(&mut self) -> std::fmt::Result {
        let Some(fork) = &self.ready.fork else { return Ok(()) };
        self.heading("Fork")?;
        fork_lines(fork).iter().try_for_each(|(name, value)| self.value(name, value))
    }

    fn x_chain(&mut self) -> std::fmt::Result {
        let ready = self.ready;
        self.heading("X-Chain")?;
        if let Some(url) = ready.endpoint("/ext/bc/X") {
            self.value("URL", &url)?;
        }
        self.value("Native asset", &ready.native_aliases.join(" or "))?;
        self.value("Its ID", &ready.native_asset_id)?;
        let Some(taken) = &ready.taken_over else { return Ok(()) };
        self.value("Taken over", &taken.counts_text())?;
        self.value("From", &taken.origin_text())
    }

    fn accounts(&mut self, funded: &DevAccounts) -> std::fmt::Result {
        let DevAccounts { mnemonic, path, balance, accounts } = funded;
        self.heading(&format!("Available Accounts, {} each", group_digits(*balance)))?;
        self.numbered(accounts.iter().map(|account| account.c_address().to_string()))?;
        self.heading("Private Keys")?;
        let (warn, off) = (self.style.warn, self.style.off);
        let warning = if mnemonic == DEV_MNEMONIC {
            "These keys are public: anyone can take what they own on other networks."
        } else {
            "For development: whoever sees them can take what they own on other networks."
        };
        writeln!(self.out, "{warn}{warning}{off}\n")?;
        self.numbered(accounts.iter().map(|account| format!("0x{}", account.key_hex())))?;
        self.heading("Wallet")?;
        let mut words = wrapped(mnemonic, COLUMNS - NAMES).into_iter();
        self.value("Mnemonic", &words.next().unwrap_or_default())?;
        for line in words {
            writeln!(self.out, "{:NAMES$}{line}", "")?;
        }
        self.value("Derivation path", &format!("{path}/N"))?;
        let (dim, off) = (self.style.dim, self.style.off);
        if !self.ready.has_x_chain {
            return writeln!(self.out, "{dim}Balances are in units of 10^18 wei.{off}");
        }
        let coin = self.ready.native_aliases.first().map_or("native units", String::as_str);
        writeln!(
            self.out,
            "{dim}Balances are in {coin} on each of C (10^18 wei) and X (10^9 units).{off}"
        )
    }

    /// The assets and contracts of the fixture.
    fn fixture(&mut self) -> std::fmt::Result {
        let entries = &self.ready.fixture;
        if entries.is_empty() {
            return Ok(());
        }
        self.heading("Fixture")?;
        let shown = if self.ready.is_verbose { entries.len() } else { MAX_FIXTURE_LINES };
        for (name, value) in entries.iter().take(shown) {
            self.value(name, value)?;
        }
        match entries.len().saturating_sub(shown) {
            0 => Ok(()),
            further => writeln!(self.out, "{further} more: --verbose"),
        }
    }

    /// Adds the lines of `--verbose`.
    fn details(&mut self) -> std::fmt::Result {
        let ready = self.ready;
        self.heading("Blocks")?;
        self.value("Gas limit", &ready.gas_limit.to_string())?;
        self.value("Base fee", &format!("{} wei at first", ready.base_fee))?;
        self.value("Began at", &ready.start_s.to_string())?;
        self.heading("Chains")?;
        for (alias, id, is_running) in &ready.chains {
            let name = match ready.has_x_chain {
                true => format!("{alias}-Chain ID"),
                false => "Blockchain ID".to_owned(),
            };
            self.value(&name, id)?;
            if !is_running {
                writeln!(self.out, "{:NAMES$}not served by this version", "")?;
            }
        }
        self.value("Node", &ready.node_id)?;
        self.heading("Endpoints")?;
        for (name, path) in &ready.endpoints {
            let name = match ready.has_x_chain {
                true => name.clone(),
                false => name.replace("-Chain", " RPC"),
            };
            self.value(&name, &format!("{}{path}", ready.url))?;
        }
        let funded = ready.dev_accounts.as_ref().filter(|_| ready.has_x_chain);
        let Some(funded) = funded else { return Ok(()) };
        self.heading("Accounts on the X-Chain")?;
        let addresses = funded.accounts.iter().map(|account| account.local_address());
        self.numbered(addresses.map(|address| format!("X-{address}")))?;
        self.heading("Private Keys for tools of the X-Chain")?;
        self.numbered(funded.accounts.iter().map(|account| account.key().to_text()))?;
        let well_known = well_known();
        self.heading("Well-known key")?;
        writeln!(self.out, "{}", well_known.c_address())?;
        writeln!(self.out, "X-{}", well_known.local_address())?;
        writeln!(self.out, "0x{}", well_known.key_hex())?;
        writeln!(self.out, "{WELL_KNOWN_KEY}")
    }

    /// Adds the next steps for the user, and the addresses on which the node listens.
    fn end(&mut self) -> std::fmt::Result {
        let (dim, off) = (self.style.dim, self.style.off);
        if !self.ready.has_x_chain {
            return self.end_of_alone();
        }
        let url = match self.ready.url.as_str() {
            DEFAULT_URL => String::new(),
            other => format!(" --url {other}"),
        };
        writeln!(self.out, "\n{dim}Try: esker accounts{url}")?;
        writeln!(self.out, "     esker call evm_chainId{url}")?;
        let more = if self.ready.is_verbose { "" } else { "\n     esker dev --verbose" };
        writeln!(self.out, "     esker balance ADDRESS{url}{more}{off}")?;
        self.port_in_use()?;
        writeln!(self.out, "\nListening on {}", self.ready.listening())
    }
}

impl Screen<'_> {
    /// The same where an EVM chain is alone: other commands ask a node of several chains.
    fn end_of_alone(&mut self) -> std::fmt::Result {
        let (dim, off) = (self.style.dim, self.style.off);
        writeln!(self.out, "\n{dim}Try: cast chain-id --rpc-url {}", self.ready.url)?;
        let more = if self.ready.is_verbose { "" } else { "\n     esker evm --verbose" };
        writeln!(self.out, "     esker status --url {}{more}{off}", self.ready.url)?;
        writeln!(self.out, "\nListening on {}", self.ready.listening())
    }
}

/// Lines of whole words of at most so many columns.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Groups digits by thousands: `10,000`.
fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
