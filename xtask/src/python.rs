//! Python for the tests with web3.py and with Ape: a venv below the target folder for each, from the package index.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::node::must;
use crate::workspace;

/// Makes the venv of a folder of `tests/clients`, unless it was made from the present requirements. Returns its
/// interpreter.
pub fn find_or_install(client: &str) -> Result<PathBuf> {
    let requirements =
        workspace::root().join("tests/clients").join(client).join("requirements.txt");
    let wanted =
        std::fs::read(&requirements).with_context(|| requirements.display().to_string())?;
    let venv = workspace::target_dir().join("xtask").join(client);
    let python = venv.join("bin").join("python");
    let stamp = venv.join("installed-requirements.txt");
    if python.is_file() && std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    std::fs::create_dir_all(&venv)?;
    make_venv(&venv).context(
        "the client tests need Python 3.10 or newer with venv: install it, or put `python3` on the PATH",
    )?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
        "-r",
    ]);
    must(pip.arg(&requirements)).with_context(|| format!("installing {client}"))?;
    std::fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())?;
    Ok(python)
}

fn make_venv(venv: &Path) -> Result<()> {
    let make = || must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv));
    let Err(error) = make() else { return Ok(()) };
    if std::env::var_os("CI").is_none() {
        bail!("{error:#}; system packages are left alone: this is no CI machine (CI is not set)");
    }
    must(Command::new("apt-get").args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    must(apt.args(["install", "-y", "-q", "--no-install-recommends", "python3", "python3-venv"]))?;
    make()
}
