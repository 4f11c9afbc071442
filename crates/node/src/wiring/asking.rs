//! The first start of a follower of a new development network: it asks its sources for the beginning of the network.
//! There are no chains until a source answers. The follower asks without an end, as a follower with chains does.
//! Meanwhile the log, `/ext/health` and `/ext/status` show the condition that it waits for.

use std::time::Duration;

use esker_follow::{NetworkBeginning, SourceError, Timeouts};
use esker_outbound::{Dialer, SourceKind, SourceUrl};
use esker_primitives::Clock;
use esker_primitives::sync::Mutex;
use esker_settings::config::Beginning;
use esker_settings::networks::{DEV_START_TIMES, DevStart};
use serde_json::json;
use thiserror::Error;

use crate::api::{EarlyReport, EarlyStatus};

/// Time between two rounds of questions.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Time between two lines of the log that report no change.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// A source, and the outcome of the last request to it.
#[derive(Clone, Debug)]
struct SourceState {
    source: String,
    /// `None`: it was not asked yet.
    error: Option<String>,
}

/// The answers of the sources.
#[derive(Debug)]
pub(super) struct Answers(Mutex<Vec<SourceState>>);

impl Answers {
    pub(super) fn new(sources: &[SourceUrl]) -> Self {
        let not_asked =
            |source: &SourceUrl| SourceState { source: source.to_string(), error: None };
        Self(Mutex::new_named("node.beginning", sources.iter().map(not_asked).collect()))
    }

    /// Whether the error differs from the previous one.
    fn note(&self, index: usize, error: &str) -> bool {
        let mut sources = self.0.lock();
        let Some(state) = sources.get_mut(index) else { return false };
        let is_new = state.error.as_deref() != Some(error);
        state.error = Some(error.to_owned());
        is_new
    }
}

impl EarlyStatus for Answers {
    fn report(&self) -> EarlyReport {
        let sources = self.0.lock().clone();
        let of_source = |SourceState { source, error }: &SourceState| {
            let error = error.as_deref().unwrap_or("not asked yet");
            format!("{source}: {error}")
        };
        let texts: Vec<_> = sources.iter().map(of_source).collect();
        let members = sources.iter();
        let members = members
            .map(|SourceState { source, error }| json!({ "source": source, "error": error }));
        let members: Vec<_> = members.collect();
        EarlyReport {
            error: format!(
                "waiting for a source that says when the network began: {}",
                texts.join("; ")
            ),
            member: "waiting",
            figures: json!({ "for": "beginning", "sources": members }),
        }
    }
}

/// The beginning that the first source returns, in the order of the sources. Asks again until one does.
pub(super) async fn ask(
    (dialer, sources): (&Dialer, &[SourceUrl]),
    network_id: u32,
    timeouts: Timeouts,
    clock: &dyn Clock,
    answers: &Answers,
) -> Beginning {
    let begun_ms = clock.now_ms();
    let interval_ms = millis(LOG_INTERVAL);
    let mut logged_ms = begun_ms;
    loop {
        for (index, source) in sources.iter().enumerate() {
            match ask_one((dialer, source), network_id, timeouts).await {
                Ok(beginning) => {
                    tracing::info!(%source, ?beginning, "the source says when the network began");
                    return beginning;
                }
                Err(error) if answers.note(index, &error.to_string()) => {
                    tracing::warn!(%source, %error, "the source does not say when the network began; asking on");
                }
                Err(_) => {}
            }
        }
        let now_ms = clock.now_ms();
        if now_ms.saturating_sub(logged_ms) >= interval_ms {
            logged_ms = now_ms;
            let waited_s = now_ms.saturating_sub(begun_ms) / 1000;
            let error = answers.report().error;
            tracing::warn!(waited_s, "{error}; with its time as --timestamp none is asked");
        }
        clock.sleep_until(now_ms.saturating_add(millis(ASK_AGAIN))).await;
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The reason why a source does not say when the network began.
#[derive(Debug, Error)]
enum AskError {
    #[error("an AvalancheGo does not say it: start with --timestamp")]
    AvalancheGo,
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("it is of network {found}, this node of {own}")]
    OtherNetwork { found: u32, own: u32 },
    #[error("no network begins at {0}")]
    Time(u64),
}

/// Asks one source.
async fn ask_one(
    (dialer, source): (&Dialer, &SourceUrl),
    own_id: u32,
    timeouts: Timeouts,
) -> Result<Beginning, AskError> {
    if source.kind == SourceKind::AvalancheGo {
        return Err(AskError::AvalancheGo);
    }
    let answer = NetworkBeginning::fetch((dialer, source), timeouts).await?;
    let NetworkBeginning { network_id, start, has_fee_window } = answer;
    if network_id != own_id {
        return Err(AskError::OtherNetwork { found: network_id, own: own_id });
    }
    match start {
        None => Ok(Beginning::OfFile),
        Some(time_s) if DEV_START_TIMES.contains(&time_s) => {
            Ok(Beginning::At(DevStart { time_s, has_fee_window }))
        }
        Some(time_s) => Err(AskError::Time(time_s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_each_source_and_what_became_of_it() {
        let sources: Vec<SourceUrl> =
            ["http://127.0.0.1:1", "http://127.0.0.1:2"].map(|url| url.parse().unwrap()).into();
        let answers = Answers::new(&sources);
        assert!(answers.note(0, "connection refused"));
        assert!(!answers.note(0, "connection refused"));
        assert!(answers.note(0, "no answer") && !answers.note(9, "no such source"));
        let EarlyReport { error, member, figures } = answers.report();
        assert_eq!(
            error,
            "waiting for a source that says when the network began: http://127.0.0.1:1: no answer; \
             http://127.0.0.1:2: not asked yet"
        );
        assert_eq!(member, "waiting");
        assert_eq!(figures["sources"][0]["error"], "no answer");
        assert!(figures["sources"][1]["error"].is_null());
    }
}
