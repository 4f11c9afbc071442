//! The node's binary: arguments to a configuration, a configuration to a node, its end to an exit code.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

// The allocator.
use esker_allocator as _;
use esker_commands::cli::{self, Invocation};
use esker_commands::fork::{self, ForkCommandError};
use esker_commands::network::NetworkCommand;
use esker_commands::online::OnlineError;
use esker_commands::screen::{self, Ready};
use esker_commands::signals::{Request, Signals};
use esker_commands::state_test::StateTestCommand;
use esker_commands::status::StatusCommand;
use esker_commands::terminal::{printable, printable_error};
use esker_commands::tools::ToolOutput;
use esker_commands::{
    backup, network, online, replay, rewind, script_worker, state_test, status, users, verify,
};
use esker_node::logging::log_fatal;
use esker_node::{
    Activity, CallLogSources, Environment, Node, RunningNode, Shutdown, StartError, Terminal,
};
use esker_profiling::{locks, memory};
use esker_settings::config::{Config, show};
use esker_settings::exit_code;

/// From `build.rs`, which runs for this package alone: the text of `--version`, and the commit if it is known.
const VERSION: &str = match option_env!("ESKER_BUILD_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};
const COMMIT: &str = match option_env!("ESKER_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "",
};

/// The error of a program without validators.
const WITHOUT_VALIDATORS: &str = "this program was built without validators: build it with `cargo build --release --features validators`";

/// Time between two returns of free memory to the system.
const COLLECT_INTERVAL: Duration = Duration::from_secs(1);

/// Returns free memory to the system at intervals. The allocator by itself does so only when it is called, so memory
/// from a storm would otherwise stay allocated on an idle node.
fn collect_memory() {
    let collect = || {
        loop {
            thread::sleep(COLLECT_INTERVAL);
            memory::release();
        }
    };
    // The node also works without the thread.
    let _thread = thread::Builder::new().name("memory".to_owned()).spawn(collect);
}

fn main() -> ExitCode {
    // Checked before anything is read: such a process uses nothing of a node.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == script_worker::ARGUMENT) {
        return script_worker::run();
    }
    let mut args: Vec<_> = std::env::args_os().collect();
    if args.get(1).is_some_and(|argument| argument == network::MEMBER_ARGUMENT) {
        args.remove(1);
        network::stop_with_input();
    }
    let invocation = match cli::parse(args, VERSION) {
        Ok(invocation) => invocation,
        Err(usage) => usage.exit(),
    };
    if let Invocation::Status(command) = &invocation {
        return show_status(command);
    }
    if let Invocation::Network(command) = &invocation {
        return run_network_command(command);
    }
    if let Invocation::Online(command) = &invocation {
        return show(online::run(command), OnlineError::exit_code);
    }
    if let Invocation::StateTest(command) = &invocation {
        return run_state_tests(command);
    }
    if let Invocation::Fork(command) = &invocation {
        return show(fork::run(command), ForkCommandError::exit_code);
    }
    if let Invocation::Backup(_, command, _) = &invocation
        && let Some(written) = backup::run_online(command)
    {
        return match written {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        };
    }
    let (mode, flags) = invocation.configuration();
    // A variable whose name is not valid text can't be one of ours.
    let env = std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    });
    let config = match Config::load(mode, flags.clone(), env) {
        Ok(config) => config,
        Err(error) => return fail(&error, exit_code::CONFIG),
    };
    match invocation {
        Invocation::ShowConfig(..) => {
            print(&show::render(&config));
            ExitCode::from(exit_code::OK)
        }
        Invocation::User(_, command, _) => match users::run(&command, &config) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
        Invocation::Replay(_, command, _) => match replay::run(&command, &config) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
        Invocation::Backup(_, command, _) => match backup::run(&command, &config) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
        Invocation::Rewind(_, command, _) => match rewind::run(&command, &config) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
        Invocation::Verify(..) => match verify::run(&config, &mut std::io::stdout()) {
            Ok(0) => ExitCode::from(exit_code::OK),
            Ok(_) => ExitCode::from(exit_code::FAILURE),
            Err(error) => fail(&error, error.exit_code()),
        },
        Invocation::Run(..) => exit_code_of(run(config, None)),
        Invocation::Tool(command) => exit_code_of(run(config, Some(&command.output))),
        Invocation::Status(command) => show_status(&command),
        Invocation::Network(command) => run_network_command(&command),
        Invocation::Online(command) => show(online::run(&command), OnlineError::exit_code),
        Invocation::StateTest(command) => run_state_tests(&command),
        Invocation::Fork(command) => show(fork::run(&command), ForkCommandError::exit_code),
    }
}

/// The exit code of a node that has ended, whose error is printed.
fn exit_code_of(ended: Result<(), StartError>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::from(exit_code::OK),
        Err(error) => fail(&error, error.exit_code()),
    }
}

/// Prints the status of a running node; the exit code says whether it is healthy.
fn show_status(command: &StatusCommand) -> ExitCode {
    match status::run(command) {
        Ok((output, is_healthy)) => {
            print(&printable(&output));
            ExitCode::from(if is_healthy { exit_code::OK } else { exit_code::FAILURE })
        }
        Err(error) => fail(&error, error.exit_code()),
    }
}

/// Prints the output of a command.
fn show<E: std::error::Error>(ended: Result<String, E>, code: impl Fn(&E) -> u8) -> ExitCode {
    match ended {
        Ok(output) => {
            print(&printable(&output));
            ExitCode::from(exit_code::OK)
        }
        Err(error) => fail(&error, code(&error)),
    }
}

/// Runs state tests; the exit code says whether all have passed.
fn run_state_tests(command: &StateTestCommand) -> ExitCode {
    match state_test::run(command, &mut std::io::stdout()) {
        Ok(true) => ExitCode::from(exit_code::OK),
        Ok(false) => ExitCode::from(exit_code::FAILURE),
        Err(error) => fail(&error, error.exit_code()),
    }
}

/// Makes a network and prints how to start its validators, or runs them.
fn run_network_command(command: &NetworkCommand) -> ExitCode {
    match command {
        NetworkCommand::New(command) => match network::new(command) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
        NetworkCommand::Run(_) if !cfg!(feature = "validators") => {
            fail(&WITHOUT_VALIDATORS, exit_code::CONFIG)
        }
        NetworkCommand::Run(folder) => match network::run_network(folder) {
            Ok(()) => ExitCode::from(exit_code::OK),
            Err(error) => fail(&error, error.exit_code()),
        },
        NetworkCommand::Rotate(command) => match network::rotate(command) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
        NetworkCommand::NewValidator(command) => match network::new_validator(command) {
            Ok(output) => {
                print(&output);
                ExitCode::from(exit_code::OK)
            }
            Err(error) => fail(&error, error.exit_code()),
        },
    }
}

/// Runs a node until a signal or a failure ends it. `tool` is what a command in the place of another tool writes.
fn run(config: Config, tool: Option<&ToolOutput>) -> Result<(), StartError> {
    collect_memory();
    locks::watch();
    memory::release_after_work();
    if config.settings.stop_with_input {
        network::stop_with_input();
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.thread_name("esker").enable_all();
    if let Some(threads) = config.threads() {
        runtime.worker_threads(threads);
    }
    let runtime = runtime.build().map_err(StartError::Thread)?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(StartError::Thread)?;
        let (stop_start, stopped) = Shutdown::new();
        let starting = Node::start_unless_stopped(config, environment(), stopped);
        tokio::pin!(starting);
        let mut is_stopping = false;
        let mut node = loop {
            tokio::select! {
                started = &mut starting => match started {
                    Err(StartError::Stopped) => return Ok(()),
                    started => break started?,
                },
                () = signals.stop(), if !is_stopping => {
                    is_stopping = true;
                    stop_start.trigger();
                }
            }
        };
        let mut replacements = node.replacements();
        // A client calls as soon as it has read the banner.
        let calls = follow_calls(&node, tool);
        let announced = announce(&node, tool);
        let mut activity = show_activity(&node, calls);
        let mut failed = Box::pin(node.failed());
        while announced.is_ok() && !is_stopping {
            tokio::select! {
                () = &mut failed => break,
                replacement = replacements.next() => {
                    node = Box::pin(node.replaced_by(replacement)).await;
                    failed = Box::pin(node.failed());
                    replacements = node.replacements();
                    if let Some(ended) = activity.take() {
                        ended.stop().await;
                    }
                    activity = show_activity(&node, follow_calls(&node, tool));
                }
                request = signals.next() => match request {
                    Request::Stop => break,
                    Request::Reload => reload(&node),
                },
            }
        }
        let stop = async {
            let stopped = node.stop().await;
            if let Some(activity) = activity {
                activity.stop().await;
            }
            announced.and(stopped)
        };
        tokio::select! {
            stopped = stop => stopped,
            // A second signal ends the process at once.
            () = signals.stop_again() => std::process::exit(exit_code::FAILURE.into()),
        }
    });
    // A handler that still reads must not hold the process.
    runtime.shutdown_background();
    ended.inspect_err(|error| {
        if !error.is_folder_in_use() {
            log_fatal(error);
        }
    })
}

/// Makes what the node takes from outside: clock, randomness, consensus library, commit.
fn environment() -> Environment {
    let environment = Environment { commit: COMMIT, ..Environment::system() };
    #[cfg(feature = "validators")]
    let environment = Environment {
        consensus: Some(std::sync::Arc::new(esker_engine_bft::Simplex)),
        ..environment
    };
    environment
}

/// Announces that the node answers: the ready file, then the line or the screen.
fn announce(node: &RunningNode, tool: Option<&ToolOutput>) -> Result<(), StartError> {
    let ready = Ready::from_node(node);
    ready.write_file(node.config())?;
    if let Some(tool) = tool {
        tool.write_config(&ready)?;
    }
    if node.config().settings.json {
        print(&screen::json_line(&ready));
    } else if shows_screen(node) {
        print(&match tool {
            Some(tool) => tool.banner(&ready),
            None => screen::render(&ready, has_colours()),
        });
    }
    Ok(())
}

/// The calls to the node from now on, if a person reads all of them on standard output.
fn follow_calls(node: &RunningNode, tool: Option<&ToolOutput>) -> Option<CallLogSources> {
    let is_shown = shows_screen(node) && tool.is_some_and(ToolOutput::shows_calls);
    is_shown.then(|| node.follow_calls())
}

/// Shows what happens on the node's chains, if a person reads standard output.
fn show_activity(node: &RunningNode, calls: Option<CallLogSources>) -> Option<Activity> {
    let out = std::io::stdout();
    let Some(calls) = calls else { return shows_screen(node).then(|| node.show_activity(out)) };
    let terminal = Terminal { can_replace: out.is_terminal(), has_colours: has_colours() };
    Some(calls.show(out, terminal))
}

/// Whether standard output is a terminal with colours.
fn has_colours() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !plain
}

/// Whether a person reads standard output.
fn shows_screen(node: &RunningNode) -> bool {
    let Config { mode, settings, .. } = node.config();
    mode.is_development() && !settings.silent && !settings.json
}

fn reload(node: &RunningNode) {
    node.reopen_logs();
    node.reload_certificate();
    // The log has the error.
    let _unchanged = node.reload_log_levels();
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    say(&error.to_string());
    ExitCode::from(code)
}

/// Writes to standard error. A closed standard error is no failure.
fn say(text: &str) {
    let _closed = writeln!(std::io::stderr(), "esker: {}", printable_error(text));
}

/// Writes to standard output at once: a program may wait for the line.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _closed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
