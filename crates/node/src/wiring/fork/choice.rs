//! The source and the block that the settings name.

use esker_fork::ProofMode;
use esker_fork::pin::{BlockChoice, resolve};
use esker_fork::source::{Source, SourceAddress};
use esker_settings::config::{Settings, Switch};

use crate::wiring::error::StartError;

/// Characters of a hash in hex.
const HASH_LENGTH: usize = 66;

/// The URLs of the source, with their headers.
pub(super) fn addresses(settings: &Settings) -> Result<Vec<SourceAddress>, StartError> {
    let address = |text: &String| {
        let address = SourceAddress::parse(text);
        let address = address.map_err(|error| fault("fork-url", error.to_string()))?;
        settings.fork_header.0.iter().try_fold(address, |address, header| {
            let with = address.with_header(header);
            with.map_err(|error| fault("fork-header", error.to_string()))
        })
    };
    settings.fork_url.0.iter().map(address).collect()
}

/// The block that a setting names. A negative number counts from the latest one.
pub(super) async fn choice(source: &Source, text: &str) -> Result<BlockChoice, StartError> {
    let expected = || {
        let reason = "expected a number, a hash, latest, safe or finalized".to_owned();
        fault("fork-block", reason)
    };
    match text {
        "latest" => return Ok(BlockChoice::Latest),
        "safe" => return Ok(BlockChoice::Safe),
        "finalized" => return Ok(BlockChoice::Finalized),
        _ => {}
    }
    if text.len() == HASH_LENGTH {
        return text.parse().map(BlockChoice::Hash).map_err(|_| expected());
    }
    if let Some(back) = text.strip_prefix('-') {
        let back: u64 = back.parse().map_err(|_| expected())?;
        let latest = resolve(source, BlockChoice::Latest, true).await?;
        return Ok(BlockChoice::Number(latest.header.number.saturating_sub(back)));
    }
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    number.map(BlockChoice::Number).map_err(|_| expected())
}

/// Whether values are read with proofs.
pub(super) fn proofs(switch: Switch) -> ProofMode {
    match switch {
        Switch::Auto => ProofMode::IfAvailable,
        Switch::On => ProofMode::Required,
        Switch::Off => ProofMode::Never,
    }
}

/// A fault of a setting.
pub(super) fn fault(name: &'static str, reason: String) -> StartError {
    StartError::ForkSetting { name, reason }
}
