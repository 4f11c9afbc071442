//! Settings of logs.

use std::fs;
use std::time::Duration;

use super::*;
use crate::logging::LogLevel;

#[test]
fn rotation_of_logs() {
    let rotation = |flags: &[(&'static str, &str)]| {
        let flags = flags.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Config::load(Mode::Dev, Flags::from_iter(flags), []).unwrap().log().rotation
    };
    let default = Rotation { max_bytes: 8 << 20, max_files: 7, interval: None, max_age: None };
    assert_eq!(rotation(&[]), default);
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let age = Some(DAY * 30);
    assert_eq!(
        rotation(&[
            ("log-rotater-max-size", "1"),
            ("log-rotater-max-files", "2"),
            ("log-rotater-max-age", "30"),
            ("log-rotater-interval", "24h"),
        ]),
        Rotation { max_bytes: 1 << 20, max_files: 2, interval: Some(DAY), max_age: age }
    );
}

#[test]
fn log_levels_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("esker.toml");
    fs::write(&path, "log-level = 'info'").unwrap();
    let flags = Flags::from([
        ("config", path.display().to_string()),
        ("log-display-level", "error".to_owned()),
    ]);
    let config = Config::load(Mode::Dev, flags, []).unwrap();
    fs::write(
        &path,
        "log-level = 'warn'\nlog-display-level = 'info'\n[chains.X]\nlog-level = 'off'",
    )
    .unwrap();
    let log = config.reload_log().unwrap();
    assert_eq!(log.main, Levels { file: LogLevel::Warn, display: LogLevel::Error });
    assert_eq!(log.chains[1], ("X".to_owned(), Levels { file: LogLevel::Off, ..log.main }));
    fs::write(&path, "log-level = 'loud'").unwrap();
    assert!(config.reload_log().is_err());
}
