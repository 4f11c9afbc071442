//! The nodes that this one follows, and the followers that it serves.

use esker_evm_execution::rules::{INITIALLY_ACTIVE, Phase};
use esker_evm_rpc::evm::FailedSends;
use esker_outbound::{Dialer, SourceKind, SourceUrl, UrlError};

use super::value::Switch;
use super::{Config, Mode, Settings};
use crate::networks::Network;

/// Most sources.
const MAX_SOURCES: usize = 16;

impl Config {
    /// The nodes that this one follows, the preferred one first; empty: it makes blocks itself.
    pub fn sources(&self) -> Vec<SourceUrl> {
        sources(&self.settings).expect("checked by Config::load")
    }

    /// Whether this node makes its bundles itself and no other node depends on them.
    pub fn decides_alone(&self) -> bool {
        self.settings.follow.0.is_empty()
            && !self.settings.api_sync_enabled
            && self.network.validators.is_empty()
    }

    /// Whether a send is answered when its block exists: on a development node that makes the blocks itself
    /// (docs/decisions.md, "Answers of development networks").
    pub fn answers_with_block(&self) -> bool {
        self.mode.is_development()
            && !self.settings.no_build
            && self.settings.follow.0.is_empty()
            && self.network.validators.is_empty()
    }

    /// The answer to a send whose transaction is in a block and failed. If sends wait for their block, the setting
    /// decides.
    pub fn failed_sends(&self) -> FailedSends {
        if !self.answers_with_block() {
            return FailedSends::Hash;
        }
        match self.settings.refuse_failed_sends {
            Switch::Auto => FailedSends::ErrorToHardhat,
            Switch::On => FailedSends::Error,
            Switch::Off => FailedSends::Hash,
        }
    }
}

fn sources(settings: &Settings) -> Result<Vec<SourceUrl>, UrlError> {
    settings.follow.0.iter().map(|text| text.parse()).collect()
}

/// Whether the P-Chain is an observed chain: X and C import its exports.
pub(super) fn observes_p(settings: &Settings) -> bool {
    let sources = sources(settings).unwrap_or_default();
    sources.iter().any(|source| source.kind == SourceKind::AvalancheGo)
}

/// Refuses settings that followers and their sources can't have. Returns the dialer of the sources.
///
/// The error names the setting at fault.
pub(super) fn check(
    settings: &Settings,
    mode: Mode,
    network: &Network,
) -> Result<Dialer, (&'static str, String)> {
    let sources = sources(settings).map_err(|error| ("follow", error.to_string()))?;
    let follows = !sources.is_empty();
    if sources.len() > MAX_SOURCES {
        return Err((
            "follow",
            format!("{} sources; expected at most {MAX_SOURCES}", sources.len()),
        ));
    }
    let kinds = |kind| sources.iter().any(|source| source.kind == kind);
    if kinds(SourceKind::AvalancheGo) {
        if kinds(SourceKind::Esker) {
            let reason =
                "sources of both kinds: a follower of AvalancheGo makes its own bundles of blocks";
            return Err(("follow", reason.to_owned()));
        }
        if !network.validators.is_empty() {
            let reason =
                "this network has validators: an AvalancheGo has none of their certificates";
            return Err(("follow", reason.to_owned()));
        }
        if let Some(reason) = avalanchego_refusal(network) {
            return Err(("follow", reason));
        }
    }
    if follows && mode == Mode::Dev {
        let reason = "esker dev makes its own blocks: follow with `esker node --network dev`";
        return Err(("follow", reason.to_owned()));
    }
    if follows && mode == Mode::Evm && !settings.no_build {
        return Err(("follow", "under esker evm only together with no-build".to_owned()));
    }
    for (is_set, name) in [(follows, "follow"), (settings.api_sync_enabled, "api-sync-enabled")] {
        if is_set && settings.rewind_depth > 0 {
            let reason = format!("not with {name}: nodes that share bundles never rewind them");
            return Err(("rewind-depth", reason));
        }
    }
    if settings.read_only && !follows {
        let reason = "only together with follow: a node that makes blocks takes transactions";
        return Err(("read-only", reason.to_owned()));
    }
    if settings.follow_snapshot && (!follows || kinds(SourceKind::AvalancheGo)) {
        let reason = "only together with follow, of an Esker node: others send no snapshots";
        return Err(("follow-snapshot", reason.to_owned()));
    }
    if settings.follow_idle_timeout.is_zero() {
        return Err(("follow-idle-timeout", "expected more than 0s".to_owned()));
    }
    dialer(settings, &sources)
}

fn dialer(settings: &Settings, sources: &[SourceUrl]) -> Result<Dialer, (&'static str, String)> {
    let needs_tls = sources.iter().any(|source| source.is_tls);
    let dialer = match (&settings.follow_ca_file, needs_tls) {
        (Some(file), true) => Dialer::with_ca_file(file),
        (None, true) => Dialer::with_machine_roots(),
        (None, false) => return Ok(Dialer::plain()),
        (Some(_), false) => {
            let reason = "only together with a source that begins with https://";
            return Err(("follow-ca-file", reason.to_owned()));
        }
    };
    dialer.map_err(|error| ("follow-ca-file", error.to_string()))
}

/// The reason why no AvalancheGo of a network can be followed; `None` if it can (docs/protocol/avalanchego.md, "What
/// is checked, and what is not").
fn avalanchego_refusal(network: &Network) -> Option<String> {
    let begins = network.evm_parameters().phase_begins(Phase::Apricot5);
    let (Some(begins), Some(_)) = (begins, network.x_chain()) else {
        return Some(format!("network \"{}\" is none of an AvalancheGo", network.name));
    };
    (begins > INITIALLY_ACTIVE).then(|| {
        format!(
            "network \"{}\" can't be followed: its first blocks are older than Apricot Phase 5, and have no block of the \
             proposer VM around them",
            network.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::Preset;

    #[test]
    fn networks_with_older_blocks_are_refused() {
        assert_eq!(avalanchego_refusal(&Preset::Local.network()), None);
        for preset in [Preset::Main, Preset::Test] {
            let refused = avalanchego_refusal(&preset.network()).unwrap();
            assert!(refused.contains("older than Apricot Phase 5"), "{refused}");
        }
    }
}
