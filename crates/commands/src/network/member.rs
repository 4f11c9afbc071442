//! A node that a program has started ends with it, also if the program is killed and can stop nothing: a validator of
//! `esker network run`, and each node with `--stop-with-input`.

use std::io::{self, Read as _};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

/// The first argument of a process of `esker network run`, before those of its command. Its input is a pipe of which the
/// command has the other end.
pub const MEMBER_ARGUMENT: &str = "network-member";

/// Time that a process has to stop; then it is killed.
pub(super) const STOP_WITHIN: Duration = Duration::from_secs(60);

/// Stops this process as a signal does when its input ends, and ends it if it has not stopped after a minute.
pub fn stop_with_input() {
    let watch = || {
        let mut input = io::stdin().lock();
        // Nothing is ever written to it.
        while let Ok(1..) = input.read(&mut [0; 64]) {}
        let _sent = kill_process(getpid(), Signal::TERM);
        thread::sleep(STOP_WITHIN);
        let _killed = kill_process(getpid(), Signal::KILL);
    };
    // Without the thread it runs as well.
    let _thread = thread::Builder::new().name("input".to_owned()).spawn(watch);
}
