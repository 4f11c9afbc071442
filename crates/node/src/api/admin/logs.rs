//! `getLogs`: the newest lines of the log.

use esker_rpc::RpcError;
use esker_rpc::wire::JsonU64;
use esker_settings::logging::LogLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AdminApi, LevelArg, no_logger};
use crate::clock;
use crate::logging::{MAX_LINES, TailLine, TailPage, TailQuery, level_name};

/// Lines without a `limit`.
const DEFAULT_LIMIT: u64 = 100;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GetLogsArgs {
    /// The least severe level; all if it is absent.
    level: Option<LevelArg>,
    /// The logger; all if it is empty.
    logger_name: String,
    /// The `next` of an earlier reply: only later lines, from the oldest on. Absent: the newest lines.
    after: Option<JsonU64>,
    /// Most lines, 1 to 1000; 100 if it is absent.
    limit: Option<JsonU64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LogsReply {
    /// The oldest first.
    lines: Vec<LogLine>,
    /// The `after` of the next call.
    next: JsonU64,
    /// Whether lines after `after` are not kept any more.
    missed: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LogLine {
    /// Grows from line to line, also over restarts of the node.
    number: JsonU64,
    /// As of RFC 3339, UTC.
    time: String,
    level: &'static str,
    logger: String,
    /// The module of the node's code that logged it.
    module: &'static str,
    /// The message and its fields on one line, cut to 4096 bytes.
    text: String,
}

impl AdminApi {
    pub(super) fn get_logs(&self, args: GetLogsArgs) -> Result<LogsReply, RpcError> {
        let limit = args.limit.map_or(DEFAULT_LIMIT, |limit| limit.0);
        let limit = usize::try_from(limit).ok().filter(|limit| (1..=MAX_LINES).contains(limit));
        let limit = limit.ok_or_else(|| {
            RpcError::new(format!("limit: expected a number from 1 to {MAX_LINES}"))
        })?;
        let logger = Some(args.logger_name).filter(|name| !name.is_empty());
        if let Some(name) = logger.as_ref().filter(|name| self.levels.get(name).is_none()) {
            return Err(no_logger(name));
        }
        let level = args.level.map_or(LogLevel::Verbo, |level| level.0);
        let after = args.after.map(|number| number.0);
        let page = self.tail.page(&TailQuery { level, logger, after, limit });
        Ok(page.into())
    }
}

impl From<TailPage> for LogsReply {
    fn from(page: TailPage) -> Self {
        let TailPage { lines, next, missed } = page;
        let lines = lines.iter().map(|line| LogLine::from(&**line)).collect();
        Self { lines, next: JsonU64(next), missed }
    }
}

impl From<&TailLine> for LogLine {
    fn from(line: &TailLine) -> Self {
        Self {
            number: JsonU64(line.number),
            time: clock::rfc3339(line.at),
            level: level_name(line.level),
            logger: line.logger.clone(),
            module: line.module,
            text: line.text.clone(),
        }
    }
}
