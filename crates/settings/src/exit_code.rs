//! Exit codes of the process.

/// Success.
pub const OK: u8 = 0;
/// A failure while running.
pub const FAILURE: u8 = 1;
/// Usage or configuration: the user must change something.
pub const CONFIG: u8 = 2;
/// The data is damaged.
pub const DAMAGED: u8 = 3;
/// The port is in use.
pub const PORT_IN_USE: u8 = 4;

/// The code of a system error. Missing permission is for the user to change.
pub fn of_io(error: &std::io::Error) -> u8 {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => CONFIG,
        _ => FAILURE,
    }
}
