//! Command line of the chores.

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [ARGS]      every test: gets node and npm where they are missing, installs the client libraries of
                             JavaScript and Python, then `cargo test --workspace ARGS`
cargo xtask flaky TIMES FILTER...  runs the tests with these names that often on a busy machine, and counts failures
cargo xtask tidy             rules of the repository that no compiler checks
cargo xtask docs             writes anew what documents hold of the code: settings, metrics, methods, answers
cargo xtask goldens FOLDER   compares tests/golden with a folder of newer recordings; --update copies them
cargo xtask shell-files FOLDER  completions for bash, fish and zsh, and manual pages, into a folder
cargo xtask packages --binary FILE --components FILE --out FOLDER [--debian]  packages of a release for npm, Python and
                             Debian
cargo xtask data-folder      keeps a data folder of this version in tests/folders, for the tests of later versions
cargo xtask plots FILE       the table and the plots of validators in docs/performance.md, from measured figures
cargo xtask screenshot LOG COMMAND  the picture in README.md, from what `script` recorded of COMMAND";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let done = match args.first().map(String::as_str) {
        Some("test") => xtask::test::run(rest),
        Some("flaky") => xtask::test::run_flaky(rest),
        Some("tidy") => xtask::tidy::run(),
        Some("docs") => xtask::docs::run(),
        Some("goldens") => xtask::goldens::run(rest),
        Some("packages") => xtask::packages::run(rest),
        Some("data-folder") => xtask::data_folder::run(rest),
        Some("plots") => xtask::plots::run(rest),
        Some("screenshot") => xtask::screenshot::run(rest),
        Some("shell-files") => xtask::shell_files::run(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}
