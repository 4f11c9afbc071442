//! Packages of this program, as if it were the node, read by Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::*;

/// Prints name, mode, size and time of each file of an archive, and checks the hashes of a wheel.
const LIST: &str = r#"
import base64, csv, hashlib, io, json, sys, tarfile, zipfile
name = sys.argv[1]
if name.endswith(".tgz"):
    with tarfile.open(name) as archive:
        print(json.dumps([[e.name, e.mode, e.size, e.mtime] for e in archive]))
else:
    with zipfile.ZipFile(name) as archive:
        files = archive.infolist()
        record = next(e.filename for e in files if e.filename.endswith("/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert [row[0] for row in rows] == [e.filename for e in files], rows
        for path, digest, size in rows[:-1]:
            data = archive.read(path)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert digest == "sha256=" + want and int(size) == len(data), path
        assert rows[-1] == [record, "", ""], rows[-1]
        print(json.dumps([[e.filename, e.external_attr >> 16 & 0o777, e.file_size, e.date_time[0]] for e in files]))
"#;
/// 2024-01-01.
const SETTINGS: Settings = Settings { time: 1_704_067_200, level: 1 };
const LIST_OF_COMPONENTS: &str = r#"{"bomFormat": "CycloneDX", "specVersion": "1.5"}"#;

fn has_python() -> bool {
    let works = Command::new("python3").arg("--version").stdin(Stdio::null()).output();
    let works = works.is_ok_and(|output| output.status.success());
    assert!(works || std::env::var_os("CI").is_none(), "there is no python3");
    works
}

/// A folder with a list of components, and a release of this program.
fn release() -> (TempDir, Release) {
    let folder = tempfile::tempdir().unwrap();
    let components = folder.path().join("components.json");
    fs::write(&components, LIST_OF_COMPONENTS).unwrap();
    let binaries = [(std::env::current_exe().unwrap(), components)];
    (folder, Release::read(&binaries, SETTINGS).unwrap())
}

fn python(code: &str, file: &Path) -> String {
    let output = Command::new("python3").args(["-c", code]).arg(file).stdin(Stdio::null()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Name, mode, size, and time of each file.
fn list(file: &Path) -> Vec<(String, u64, u64, u64)> {
    let entries: Vec<(String, u64, u64, u64)> = serde_json::from_str(&python(LIST, file)).unwrap();
    assert!(entries.iter().all(|(name, ..)| !name.starts_with('/') && !name.contains("..")));
    entries
}

fn mode_of(entries: &[(String, u64, u64, u64)], name: &str) -> u64 {
    let found = entries.iter().find(|(of, ..)| of == name);
    found.unwrap_or_else(|| panic!("no {name}: {entries:?}")).1
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn packages_for_npm_have_the_binary_and_the_licences() {
    if !has_python() {
        return;
    }
    let (folder, release) = release();
    let written = release.write_npm(folder.path()).unwrap();
    let names: Vec<String> = written.iter().map(|file| file_name(file)).collect();
    let cpu = release.binaries[0].needs.processor.node_name();
    let dependency = format!("esker-cli-linux-{cpu}");
    assert_eq!(names, [format!("{dependency}-{VERSION}.tgz"), format!("esker-cli-{VERSION}.tgz")]);
    let (binary, command) = (list(&written[0]), list(&written[1]));
    for (entries, name, mode) in [
        (&binary, "bin/esker", 0o755),
        (&binary, "esker.cdx.json", 0o644),
        (&binary, "LICENSE-MIT", 0o644),
        (&binary, "LICENSE-APACHE", 0o644),
        (&command, "bin/esker.cjs", 0o755),
        (&command, "binary.cjs", 0o644),
        (&command, "LICENSE-MIT", 0o644),
        (&command, "README.md", 0o644),
    ] {
        assert_eq!(mode_of(entries, &format!("package/{name}")), mode, "{name}");
    }
    assert!(binary.iter().chain(&command).all(|(.., time)| *time == SETTINGS.time));
    let manifest = "import sys, tarfile; \
                    print(tarfile.open(sys.argv[1]).extractfile('package/package.json').read().decode())";
    let of = |file: &PathBuf| -> Value { serde_json::from_str(&python(manifest, file)).unwrap() };
    assert_eq!(of(&written[1])["optionalDependencies"][&dependency], VERSION);
    let binary = of(&written[0]);
    assert_eq!((&binary["os"][0], &binary["cpu"][0]), (&"linux".into(), &cpu.into()));
    assert_eq!(binary["glibc"], release.binaries[0].needs.glibc.to_string());
}

#[test]
fn wheels_have_the_binary_the_licences_and_right_hashes() {
    if !has_python() {
        return;
    }
    let (folder, release) = release();
    let written = release.write_wheels(folder.path()).unwrap();
    let [wheel] = &written[..] else { panic!("{written:?}") };
    let name = file_name(wheel);
    assert!(name.starts_with(&format!("esker-{VERSION}-py3-none-manylinux_2_")), "{name}");
    let entries = list(wheel);
    let info = format!("esker-{VERSION}.dist-info");
    assert_eq!(mode_of(&entries, &format!("esker-{VERSION}.data/scripts/esker")), 0o755);
    for name in
        ["licenses/LICENSE-MIT", "licenses/LICENSE-APACHE", "sboms/esker.cdx.json", "METADATA"]
    {
        assert_eq!(mode_of(&entries, &format!("{info}/{name}")), 0o644);
    }
    assert_eq!(mode_of(&entries, "esker/__main__.py"), 0o644);
    assert!(entries.iter().all(|(.., year)| *year == 2024));
}

#[test]
fn a_second_run_gives_the_same_bytes() {
    if !has_python() {
        return;
    }
    let (folder, release) = release();
    let runs = ["first", "second"].map(|run| {
        let out = folder.path().join(run);
        fs::create_dir(&out).unwrap();
        let mut written = release.write_npm(&out).unwrap();
        written.extend(release.write_wheels(&out).unwrap());
        written
    });
    assert_eq!(runs[0].len(), 3);
    for (first, second) in runs[0].iter().zip(&runs[1]) {
        assert!(fs::read(first).unwrap() == fs::read(second).unwrap(), "{}", first.display());
    }
}

#[test]
fn what_is_no_release_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let components = folder.path().join("components.json");
    fs::write(&components, LIST_OF_COMPONENTS).unwrap();
    let own = std::env::current_exe().unwrap();
    let refusal = |binaries: &[(&PathBuf, &PathBuf)]| {
        let binaries: Vec<_> =
            binaries.iter().map(|(path, list)| ((*path).clone(), (*list).clone())).collect();
        format!("{:#}", Release::read(&binaries, SETTINGS).unwrap_err())
    };
    assert!(refusal(&[]).starts_with("no binary"));
    assert!(refusal(&[(&own, &components), (&own, &components)]).contains("same processor"));
    assert!(refusal(&[(&components, &components)]).contains("not a Linux binary"));
    let other = folder.path().join("other.json");
    fs::write(&other, "{}").unwrap();
    assert!(refusal(&[(&own, &other)]).contains("CycloneDX"));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for (arguments, text) in [
        (&["--binary"][..], "--binary needs a value"),
        (&["--binary", "a", "--out", "b"], "each binary needs its list"),
        (&["--binary", "a", "--components", "b"], "no --out"),
        (&["--best"], "unknown argument --best"),
    ] {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let error = Arguments::parse(&arguments).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
}
