//! Writes completions and manual pages: `cargo xtask shell-files FOLDER`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap_complete::Shell;
use esker_commands::cli;

/// Shells whose completions are written.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("a folder is missing: shell_files FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes `completions` and `man` into the folder, which is created if it is missing.
fn write(folder: &Path) -> std::io::Result<()> {
    let (completions, man) = (folder.join("completions"), folder.join("man"));
    fs::create_dir_all(&completions)?;
    fs::create_dir_all(&man)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut cli::command(), "esker", &completions)?;
    }
    clap_mangen::generate_to(cli::command(), man)
}
