//! The arguments of `esker status`.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::StatusCommand;
use crate::node_url::{self, NodeUrl};

/// The command.
pub(crate) fn command() -> Command {
    let url = Arg::new("url")
        .long("url")
        .value_name("URL")
        .default_value("http://127.0.0.1:9650")
        .help("The running node");
    let json = Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print the node's answer, one line of JSON");
    Command::new("status")
        .about("Show role, heights and lag of a running node")
        .long_about(
            "Show role, heights and lag of a running node. The exit code is 1 if the node does not answer or its \
             health report fails.",
        )
        .arg(url)
        .arg(node_url::ca_file())
        .arg(json)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> StatusCommand {
    StatusCommand { node: NodeUrl::parse(given), json: given.get_flag("json") }
}
