//! Logs why no block can be built.

use esker_evm_execution::rules::RuleError;
use esker_primitives::sync::Mutex;

/// The last failure that was logged: the height of the parent, and the reason.
#[derive(Debug)]
pub(super) struct BuildFailures(Mutex<Option<(u64, String)>>);

impl Default for BuildFailures {
    fn default() -> Self {
        Self(Mutex::new_named("evm.build_failures", None))
    }
}

impl BuildFailures {
    /// Logs that the rules allow no block on the block at `height`, once for each reason: each new transaction would
    /// repeat it.
    pub(super) fn log(&self, chain: &str, height: u64, reason: &RuleError) {
        let failure = (height, reason.to_string());
        let is_new = self.0.lock().replace(failure.clone()) != Some(failure);
        if is_new {
            tracing::error!(
                chain,
                height,
                %reason,
                "no block can be built on this one, so transactions wait: the genesis may lack a contract that each \
                 block calls, or a transaction breaks a rule of the whole block"
            );
        }
    }
}
