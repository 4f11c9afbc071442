//! How to trace: the last argument of every method.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Duration;

use esker_evm_execution::rules::Dialect;
use esker_evm_execution::trace::tracers::CallTracer;
use esker_evm_execution::trace::{
    ScriptSession, Scripts, StructLogConfig, StructLogger, TraceError, Tracer, tracers,
};
use esker_go_json::args::{Argument, ArgumentError, Slot, decode_struct};
use esker_go_json::{Document, Kind};
use esker_rpc::{schema, schema_as};

use super::duration::parse_duration;
use super::names::ArtifactNames;
use super::output::Refusal;
use super::run::Deadline;
use crate::evm::TransactApi;
use crate::wire::call::{BlockOverrides, StateOverrides};
use schemars::JsonSchema;

/// Default time of one transaction.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time of one transaction: while it runs, the store keeps what is deleted meanwhile.
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(60);
/// Default of `reexec`.
pub(super) const DEFAULT_REEXEC: u64 = 128;

/// Go's `tracers.TraceConfig`.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceConfig {
    log: StructLogConfig,
    tracer: Option<String>,
    timeout: Option<String>,
    reexec: Option<u64>,
    tracer_config: RawJson,
}

/// Go's `tracers.TraceCallConfig`.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceCallConfig {
    pub(super) trace: TraceConfig,
    pub(super) state: Option<StateOverrides>,
    pub(super) block: Option<BlockOverrides>,
}

/// What tracers show of a chain.
#[derive(Clone, Debug)]
pub(super) struct ChainTerms {
    dialect: Dialect,
    names: Option<ArtifactNames>,
}

impl ChainTerms {
    pub(super) fn of(transact: &TransactApi) -> Self {
        let names = transact.artifacts.clone().map(ArtifactNames);
        Self { dialect: transact.reads.dialect(), names }
    }
}

impl TraceConfig {
    /// A tracer for one transaction.
    pub(super) fn tracer(
        &self,
        scripts: &dyn ScriptSession,
        chain: &ChainTerms,
    ) -> Result<Box<dyn Tracer>, TraceError> {
        let has_prefixes = chain.dialect.is_standard();
        match &self.tracer {
            None => Ok(Box::new(StructLogger::new(StructLogConfig { has_prefixes, ..self.log }))),
            Some(name) => match tracers::by_name(name) {
                Some(_) if name == "callTracer" => self.call_tracer(chain),
                Some(new) => new(self.tracer_config.text()),
                None => scripts.tracer(name, self.tracer_config.text()),
            },
        }
    }

    fn call_tracer(&self, chain: &ChainTerms) -> Result<Box<dyn Tracer>, TraceError> {
        let tracer = CallTracer::new(self.tracer_config.text())?;
        Ok(Box::new(match &chain.names {
            Some(names) => tracer.with_names(Rc::new(names.clone())),
            None => tracer,
        }))
    }

    /// Whether the tracer is a script.
    pub(super) fn is_script(&self) -> bool {
        self.tracer.as_ref().is_some_and(|name| tracers::by_name(name).is_none())
    }

    /// Starts the scripts of a request, and waits for a place for them.
    pub(super) fn begin_scripts(
        &self,
        scripts: &dyn Scripts,
        deadline: &Deadline<'_>,
    ) -> Result<Rc<dyn ScriptSession>, Refusal> {
        let session = scripts.session(deadline.script_client());
        if self.is_script() {
            deadline.begin(self.timeout()?);
            session.reserve(&|| deadline.stop())?;
        }
        Ok(session)
    }

    /// The time that one transaction may take.
    pub(super) fn timeout(&self) -> Result<Duration, TraceError> {
        let Some(text) = &self.timeout else { return Ok(DEFAULT_TIMEOUT) };
        let timeout =
            parse_duration(text).map_err(|error| TraceError::Failed(error.to_string()))?;
        Ok(timeout.min(MAX_TIMEOUT))
    }

    /// How many blocks the reference would run again for a missing state. Esker runs none again.
    pub(super) fn reexec(&self) -> u64 {
        self.reexec.unwrap_or(DEFAULT_REEXEC)
    }
}

/// Output to geth's console, and forks of the chain's configuration. Neither changes a trace here.
#[derive(Default)]
pub(super) struct IgnoredSettings {
    debug: bool,
    overrides: Option<ChainConfig>,
}

/// Go's `params.ChainConfig`: an object whose content is ignored.
struct ChainConfig;

impl Argument for ChainConfig {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("params.ChainConfig")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match value.kind() {
            Kind::Object => Ok(Self),
            found => Err(ArgumentError::kind(found, Self::go_type())),
        }
    }
}

/// The members of Go's `logger.Config`, which each configuration begins with.
pub(super) fn log_slots<'c>(
    log: &'c mut StructLogConfig,
    ignored: &'c mut IgnoredSettings,
) -> Vec<(&'static str, &'c mut dyn Slot)> {
    vec![
        ("enableMemory", &mut log.enable_memory),
        ("disableStack", &mut log.disable_stack),
        ("disableStorage", &mut log.disable_storage),
        ("enableReturnData", &mut log.enable_return_data),
        ("debug", &mut ignored.debug),
        ("limit", &mut log.limit),
        ("overrides", &mut ignored.overrides),
    ]
}

/// Reads both types; only the second takes overrides.
fn decode_config(
    value: Document<'_>,
    takes_overrides: bool,
) -> Result<TraceCallConfig, ArgumentError> {
    let TraceCallConfig { trace: mut config, mut state, mut block } = TraceCallConfig::default();
    let mut ignored = IgnoredSettings::default();
    let mut slots = log_slots(&mut config.log, &mut ignored);
    // The reference gives these fields no names for JSON, so texts show those of Go.
    slots.push(("Tracer", &mut config.tracer));
    slots.push(("Timeout", &mut config.timeout));
    slots.push(("Reexec", &mut config.reexec));
    slots.push(("TracerConfig", &mut config.tracer_config));
    let go_type = match takes_overrides {
        true => {
            slots.push(("StateOverrides", &mut state));
            slots.push(("BlockOverrides", &mut block));
            "tracers.TraceCallConfig"
        }
        false => "tracers.TraceConfig",
    };
    decode_struct(value, go_type, &mut slots)?;
    drop(slots);
    Ok(TraceCallConfig { trace: config, state, block })
}

/// Properties of the struct logger's settings, with which each configuration begins.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct LogSettings {
    /// Show memory.
    enable_memory: bool,
    /// Leave out the stack.
    disable_stack: bool,
    /// Leave out storage.
    disable_storage: bool,
    /// Show the data that the last call returned.
    enable_return_data: bool,
    /// Changes nothing.
    debug: bool,
    /// Most instructions shown; 0: no limit, below: none.
    limit: i64,
    /// Changes nothing.
    overrides: Option<ChainConfig>,
}

/// Settings of a trace.
#[derive(JsonSchema)]
#[schemars(title = "trace settings", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents: the members are read into slots")]
struct TraceSettings {
    #[schemars(flatten)]
    log: LogSettings,
    /// A tracer by its name, or a script; without one each instruction is shown.
    tracer: Option<String>,
    /// Time of one transaction, such as `5s`.
    timeout: Option<String>,
    /// Changes nothing.
    reexec: Option<u64>,
    /// Settings of the tracer.
    #[schemars(default)]
    tracer_config: RawJson,
}

/// Settings of the trace of a call.
#[derive(JsonSchema)]
#[schemars(title = "trace settings", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents: the members are read into slots")]
struct TraceCallSettings {
    #[schemars(flatten)]
    trace: TraceSettings,
    state_overrides: Option<StateOverrides>,
    block_overrides: Option<BlockOverrides>,
}

schema_as!(TraceConfig, "TraceConfig", TraceSettings);
schema_as!(TraceCallConfig, "TraceCallConfig", TraceCallSettings);
schema!(RawJson, "AnyJson", {});
schema!(ChainConfig, "ChainConfig", { "type": "object" });

impl Argument for TraceConfig {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("tracers.TraceConfig")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        Ok(decode_config(value, false)?.trace)
    }
}

impl Argument for TraceCallConfig {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("tracers.TraceCallConfig")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        decode_config(value, true)
    }
}

/// Go's `json.RawMessage`.
#[derive(Clone, Debug, Default)]
pub(super) struct RawJson(Option<String>);

impl RawJson {
    fn text(&self) -> &str {
        self.0.as_deref().unwrap_or("null")
    }
}

impl Argument for RawJson {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("json.RawMessage")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        Ok(Self(Some(String::from_utf8_lossy(value.as_bytes()).into_owned())))
    }
}
