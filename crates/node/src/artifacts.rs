//! Reads the folders of artifacts, and again as they change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_artifacts::{Folders, Registry, Scan};
use esker_chain::Shutdown;
use esker_primitives::Clock;

/// Time between two looks at the folders.
const INTERVAL: Duration = Duration::from_secs(1);
/// A look takes at most this part of the time.
const MAX_SHARE: u32 = 20;

/// Folders of artifacts, whose contracts the registries have.
#[derive(Debug)]
pub(crate) struct ArtifactWatch {
    folders: Folders,
    registries: Vec<Registry>,
    /// Problems that are not logged yet.
    problems: Vec<String>,
}

impl ArtifactWatch {
    /// Reads the folders; `None`: there are none.
    pub(crate) fn open(roots: &[PathBuf], registries: Vec<Registry>) -> Option<Self> {
        if roots.is_empty() || registries.is_empty() {
            return None;
        }
        let folders = Folders::new(roots.to_vec());
        let mut watch = Self { folders, registries, problems: Vec::new() };
        watch.look();
        Some(watch)
    }

    /// Reads the files that change, until the node stops.
    pub(crate) async fn run(self, clock: Arc<dyn Clock>, mut stop: Shutdown) {
        let (mut watch, mut pause) = (self, INTERVAL);
        loop {
            let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            tokio::select! {
                () = clock.sleep_until(clock.now_ms().saturating_add(pause_ms)) => {}
                _ = stop.wait() => return,
            }
            // Those of the first look come after the screen: launchers take earlier ones for a failed start.
            for problem in watch.problems.drain(..) {
                tracing::warn!("artifacts: {problem}");
            }
            let look = move || {
                let begun = Instant::now();
                watch.look();
                (watch, begun.elapsed())
            };
            let Ok((looked, took)) = tokio::task::spawn_blocking(look).await else { return };
            watch = looked;
            pause = INTERVAL.max(took.saturating_mul(MAX_SHARE));
        }
    }

    fn look(&mut self) {
        let Scan { is_changed, problems } = self.folders.scan();
        self.problems.extend(problems);
        if is_changed {
            let contracts = self.folders.contracts();
            tracing::info!(contracts = contracts.len(), "read the artifacts");
            for registry in &self.registries {
                registry.replace(contracts.clone());
            }
        }
    }
}
