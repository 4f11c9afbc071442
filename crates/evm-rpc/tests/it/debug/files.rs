//! Files of blocks: what is written, what is read, and where.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, Bytes, TxKind};
use serde_json::json;

use super::world::World;
use crate::world::Setup;

const EXPORT: &str = "admin_exportChain";
const IMPORT: &str = "admin_importChain";

async fn with_blocks(folder: &Path, blocks: u64) -> World {
    let world = World::new(folder);
    for nonce in 0..blocks {
        let to = TxKind::Call(Address::repeat_byte(2));
        world.send(nonce, to, nonce, Bytes::new());
        world.block().await;
    }
    world
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The blocks of a range, as they lie in a file.
async fn encoded(world: &World, range: std::ops::RangeInclusive<u64>) -> Vec<u8> {
    let mut all = Vec::new();
    for height in range {
        let raw = world.call("debug_getRawBlock", json!([format!("{height:#x}")])).await;
        let raw: Bytes = raw.as_str().unwrap().parse().unwrap();
        all.extend_from_slice(&raw);
    }
    all
}

#[tokio::test]
async fn a_file_holds_the_blocks_and_brings_them_elsewhere() {
    let temporary = tempfile::tempdir().unwrap();
    // It is made when it is needed.
    let folder = temporary.path().join("files");
    let world = with_blocks(&folder, 70).await;
    for name in ["all", "all.gz"] {
        assert_eq!(world.call(EXPORT, json!([name])).await, true);
    }
    for (name, params) in [("tail", json!(["tail", 69])), ("part", json!(["part", 2, 3]))] {
        assert_eq!(world.call(EXPORT, params).await, true, "{name}");
    }
    let whole = folder.join("whole").to_str().unwrap().to_owned();
    assert_eq!(world.call(EXPORT, json!([whole, null, null])).await, true);
    assert_eq!(names(&folder), ["all", "all.gz", "part", "tail", "whole"], "nothing unfinished");
    let all = encoded(&world, 0..=70).await;
    assert_eq!(fs::read(folder.join("all")).unwrap(), all);
    assert_eq!(fs::read(folder.join("whole")).unwrap(), all);
    assert_eq!(fs::read(folder.join("tail")).unwrap(), encoded(&world, 69..=70).await);
    assert_eq!(fs::read(folder.join("part")).unwrap(), encoded(&world, 2..=3).await);
    let zipped = fs::read(folder.join("all.gz")).unwrap();
    assert!(zipped.starts_with(&[0x1f, 0x8b]) && zipped.len() < all.len());

    let other = World::new(&folder).later();
    let (_, text) = other.error(IMPORT, json!(["part"])).await;
    assert_eq!(text, "batch 0: failed to insert: unknown ancestor");
    assert_eq!(other.height(), 0);
    assert_eq!(other.call(IMPORT, json!(["all.gz"])).await, true);
    assert_eq!(other.evm.head().hash, world.evm.head().hash);
    // Blocks that exist already are skipped.
    for name in ["all", "part", "tail"] {
        assert_eq!(other.call(IMPORT, json!([name])).await, true, "{name}");
    }
    assert_eq!(other.height(), 70);
}

#[tokio::test]
async fn a_bad_block_ends_an_import_and_what_came_before_stays() {
    let folder = tempfile::tempdir().unwrap();
    let world = with_blocks(folder.path(), 3).await;
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let mut altered = encoded(&world, 0..=3).await;
    // In the third block's header: its gas.
    let third = encoded(&world, 0..=2).await.len();
    let at =
        third + encoded(&world, 3..=3).await.windows(2).position(|w| w == [0x52, 0x08]).unwrap();
    altered[at + 1] = 0x09;
    write("altered", &altered);
    write("cut", &encoded(&world, 1..=2).await[..900]);
    write("text", b"blocks");
    write("list", &[0xc1, 0x80]);
    write("plain.gz", &altered);
    write("empty", &[]);

    let other = World::new(folder.path()).later();
    assert_eq!(other.call(IMPORT, json!(["empty"])).await, true);
    for (name, text) in [
        ("text", "block 0: failed to parse: rlp: expected List"),
        ("plain.gz", "block 0: failed to parse: invalid gzip header"),
    ] {
        assert_eq!(other.error(IMPORT, json!([name])).await, (-32000, text.to_owned()));
    }
    let (_, text) = other.error(IMPORT, json!(["list"])).await;
    assert!(text.starts_with("block 0: failed to parse: "), "{text}");
    let (_, text) = other.error(IMPORT, json!(["altered"])).await;
    assert!(text.starts_with("batch 0: failed to insert: "), "{text}");
    assert_eq!(other.height(), 2, "the blocks before it are there");
    // Another block 1 than the file's.
    let third = with_blocks(folder.path(), 0).await;
    third.send(0, TxKind::Call(Address::repeat_byte(3)), 5, Bytes::new());
    third.block().await;
    let (_, text) = third.error(IMPORT, json!(["altered"])).await;
    assert_eq!(text, "batch 0: failed to insert: another block 1 is accepted");
}

#[tokio::test]
async fn files_lie_where_the_operator_says() {
    let temporary = tempfile::tempdir().unwrap();
    let (folder, outside) = (temporary.path().join("files"), temporary.path().join("outside"));
    let world = with_blocks(&folder, 1).await;
    fs::create_dir(&outside).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(outside.join("secret"), b"\xc0").unwrap();
    std::os::unix::fs::symlink(&outside, folder.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret"), folder.join("secret")).unwrap();
    std::os::unix::fs::symlink(outside.join("new"), folder.join("dangling")).unwrap();
    let path = |name: &str| outside.join(name).to_str().unwrap().to_owned();
    let not_allowed =
        "files of blocks must be in the folder of the setting chain-files-dir of this chain";
    for name in [path("new"), "../outside/new".into(), "link/new".into()] {
        let error = world.error(EXPORT, json!([name])).await;
        assert_eq!(error, (-32000, not_allowed.to_owned()), "{name}");
    }
    for name in [path("secret"), "../outside/secret".into(), "link/secret".into(), "secret".into()]
    {
        let error = world.error(IMPORT, json!([name])).await;
        assert_eq!(error, (-32000, not_allowed.to_owned()), "{name}");
    }
    // A link to nothing is not followed.
    let error = world.error(EXPORT, json!(["dangling"])).await;
    assert_eq!(error.1, "location would overwrite an existing file");
    assert_eq!(names(&outside), ["secret"]);
    assert_eq!(names(&folder), ["dangling", "link", "secret"]);
    fs::create_dir(folder.join("below")).unwrap();
    assert_eq!(world.call(EXPORT, json!(["below/new"])).await, true);
    assert_eq!(world.call(IMPORT, json!(["below/new"])).await, true);

    // A folder of everything allows everything.
    let anywhere = with_blocks(Path::new("/"), 1).await;
    assert_eq!(anywhere.call(EXPORT, json!([path("new")])).await, true);
}

#[tokio::test]
async fn wrong_requests_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let world = with_blocks(folder.path(), 2).await;
    fs::write(folder.path().join("there"), b"").unwrap();
    let no_file = |name: &str| format!("open {name}: no such file or directory");
    for (method, params, code, text) in [
        (EXPORT, json!([]), -32602, "missing value for required argument 0".to_owned()),
        (EXPORT, json!([""]), -32000, no_file("")),
        (EXPORT, json!(["/nope/dir/file"]), -32000, no_file("/nope/dir/file")),
        (EXPORT, json!(["nope/file"]), -32000, no_file("nope/file")),
        (EXPORT, json!(["/dev/null"]), -32000, "location would overwrite an existing file".into()),
        (EXPORT, json!(["there"]), -32000, "location would overwrite an existing file".into()),
        (EXPORT, json!(["."]), -32000, "location would overwrite an existing file".into()),
        (EXPORT, json!(["there/x"]), -32000, "open there/x: not a directory".into()),
        (EXPORT, json!(["x", null, 1]), -32000, "last cannot be specified without first".into()),
        (
            EXPORT,
            json!(["x", 2, 1]),
            -32000,
            "export failed: first (2) is greater than last (1)".into(),
        ),
        (
            EXPORT,
            json!(["x", 3]),
            -32000,
            "export failed: first (3) is greater than last (2)".into(),
        ),
        (EXPORT, json!(["x", 1, 3]), -32000, "export failed on #3: not found".into()),
        (
            EXPORT,
            json!(["x", "0x1"]),
            -32602,
            "invalid argument 1: json: cannot unmarshal string into Go value of type uint64".into(),
        ),
        (
            EXPORT,
            json!(["a\u{0}b"]),
            -32000,
            "open a\u{0}b: file name contained an unexpected NUL byte".into(),
        ),
        (IMPORT, json!([]), -32602, "missing value for required argument 0".into()),
        (IMPORT, json!([""]), -32000, no_file("")),
        (IMPORT, json!(["/nope/dir/file"]), -32000, no_file("/nope/dir/file")),
        (IMPORT, json!(["."]), -32000, "block 0: failed to parse: is a directory".into()),
    ] {
        assert_eq!(world.error(method, params.clone()).await, (code, text), "{method}{params}");
    }
    assert_eq!(names(folder.path()), ["there"]);
}

#[tokio::test]
async fn pipes_and_devices_are_not_opened() {
    const LIMIT: Duration = Duration::from_secs(60);
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let world = with_blocks(folder.path(), 1).await;
    for (method, name, text) in [
        (IMPORT, "pipe", "open pipe: it is not a regular file"),
        (
            "debug_traceBlockFromFile",
            "pipe",
            "could not read file: open pipe: it is not a regular file",
        ),
        (EXPORT, "pipe", "location would overwrite an existing file"),
    ] {
        match tokio::time::timeout(LIMIT, world.error(method, json!([name]))).await {
            Ok(error) => assert_eq!(error, (-32000, text.to_owned()), "{method}"),
            Err(_) => {
                // Whoever waits for a writer goes on, and the test can end.
                let _both = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
                panic!("{method} opened a pipe");
            }
        }
    }
    let anywhere = with_blocks(Path::new("/"), 1).await;
    for device in ["/dev/zero", "/dev/full"] {
        let error = anywhere.error(IMPORT, json!([device])).await;
        assert_eq!(error.1, format!("open {device}: it is not a regular file"));
    }
    assert_eq!(world.call(EXPORT, json!(["after"])).await, true);
    assert_eq!(world.call(IMPORT, json!(["after"])).await, true);
}

#[tokio::test]
async fn a_node_among_others_imports_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let world = with_blocks(folder.path(), 1).await;
    assert_eq!(world.call(EXPORT, json!(["one"])).await, true);
    let follower = World::with(Setup::ARCHIVE, folder.path(), false);
    let text = "batch 0: failed to insert: blocks can be imported only by a node that decides alone which \
                blocks are accepted";
    assert_eq!(follower.error(IMPORT, json!(["one"])).await, (-32000, text.to_owned()));
    assert_eq!(follower.call(EXPORT, json!(["genesis"])).await, true);
}

/// Whoever leaves ends the work after the step that is under way, and no file is left.
#[tokio::test]
async fn a_client_that_leaves_frees_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let world = with_blocks(folder.path(), 70).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": EXPORT, "params": ["left"]}).to_string();
    let mut leaving = Box::pin(crate::world::answer(&world.server, &body));
    tokio::select! {
        biased;
        answer = &mut leaving => panic!("{answer}"),
        // The first step runs on another thread now.
        () = tokio::task::yield_now() => {}
    }
    let (_, text) = world.error(EXPORT, json!(["other"])).await;
    assert_eq!(text, "another file of blocks is being written or read");
    drop(leaving);
    let limit = Instant::now() + Duration::from_secs(60);
    while world.ask(EXPORT, &json!(["other"])).await.get("result").is_none() {
        assert!(Instant::now() < limit, "the turn is free again");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(names(folder.path()), ["other"]);
}
