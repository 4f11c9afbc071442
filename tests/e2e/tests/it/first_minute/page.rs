//! The commands of a page, and the answers that it shows to them.

use serde_json::Value;

/// Programs with which a command of a page begins.
const PROGRAMS: [&str; 21] = [
    "esker",
    "curl",
    "cast",
    "cargo",
    "cp",
    "npm",
    "pip",
    "npx",
    "node",
    "cd",
    "openssl",
    "docker",
    "systemctl",
    "install",
    "printf",
    "apt",
    "useradd",
    "runuser",
    "promtool",
    "rm",
    "timeout",
];

/// How indented lines begin that are something else: data, files and messages.
const TEXTS: [&str; 6] =
    ["{", "# /etc/", "X: transaction", "/var/lib/", "chain-id of chain", "the data folder has"];

/// A command, or a script of several lines that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shown {
    /// Its line on the page, from 1.
    pub(super) line: usize,
    pub(super) command: String,
    /// The document that the page shows as its answer.
    pub(super) answer: Option<Value>,
}

/// The commands of the `sh` blocks and of the indented blocks of a page, in their order.
///
/// # Panics
/// An indented block is neither a command nor one of [`TEXTS`].
pub(super) fn commands(page: &str, text: &str) -> Vec<Shown> {
    let (mut shown, mut lines) = (Vec::<Shown>::new(), text.lines().zip(1..).peekable());
    while let Some((line, number)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = std::iter::from_fn(|| lines.next().filter(|(line, _)| *line != "```"));
            let inside: Vec<_> = inside.collect();
            match language {
                "sh" => shown.extend(of_block(&inside)),
                "json" => {
                    let text: Vec<_> = inside.iter().map(|(line, _)| *line).collect();
                    let last = shown.last_mut().filter(|last| last.command.starts_with("curl "));
                    if let Some(last) = last.filter(|last| last.answer.is_none()) {
                        last.answer = serde_json::from_str(&text.join("\n")).ok();
                    }
                }
                _ => {}
            }
        } else if line.starts_with("    ") {
            let mut block = vec![(line, number)];
            while let Some(next) = lines.next_if(|(next, _)| next.starts_with("    ")) {
                block.push(next);
            }
            let first = line.trim_start();
            if begins_command(first) {
                shown.extend(of_block(&block));
            } else {
                let is_text = TEXTS.iter().any(|text| first.starts_with(text));
                assert!(is_text, "{page}:{number}: neither a command nor a known text: {first}");
            }
        }
    }
    shown
}

fn begins_command(line: &str) -> bool {
    line.split([' ', '\n']).next().is_some_and(|word| PROGRAMS.contains(&word))
}

/// One command for each line, unless a line is none: then all of them are a script.
fn of_block(block: &[(&str, usize)]) -> Vec<Shown> {
    let mut commands = Vec::<Shown>::new();
    let mut goes_on = false;
    for (line, number) in block {
        let begun = line.trim_end().strip_suffix('\\');
        match commands.last_mut().filter(|_| goes_on) {
            Some(last) => last.command.push_str(&format!("\n{line}")),
            None => commands.push(Shown {
                line: *number,
                command: without_comment(line.trim()).to_owned(),
                answer: None,
            }),
        }
        goes_on = begun.is_some();
    }
    let is_script = |shown: &Shown| {
        let ends_in_background = shown.command.ends_with(" &");
        !begins_command(&shown.command) || ends_in_background
    };
    if !commands.iter().any(is_script) {
        return commands;
    }
    let command: Vec<_> = block.iter().map(|(line, _)| *line).collect();
    vec![Shown { line: block[0].1, command: command.join("\n"), answer: None }]
}

/// Without what a shell takes for a comment.
fn without_comment(command: &str) -> &str {
    command.split_once("  #").map_or(command, |(before, _)| before).trim_end()
}

#[test]
fn commands_and_answers_are_found() {
    let page = "\
```sh
cargo run -- dev     # a network
curl -H 'A: b' http://x \\
  -d '{}'
```
```json
{\"result\":
1}
```
```json
{\"no\": \"answer\"}
```

    esker balance 0   # of the first

1. In a list:

       esker time

```sh
X=1
esker call $X
```

    {\"no\": \"command\"}
";
    let shown = commands("p", page);
    let found: Vec<_> = shown.iter().map(|shown| (shown.line, shown.command.as_str())).collect();
    let expected = [
        (2, "cargo run -- dev"),
        (3, "curl -H 'A: b' http://x \\\n  -d '{}'"),
        (14, "esker balance 0"),
        (18, "esker time"),
        (21, "X=1\nesker call $X"),
    ];
    assert_eq!(found, expected);
    let answers = shown.iter().map(|shown| shown.answer.clone());
    let expected = [None, Some(serde_json::json!({"result": 1})), None, None, None];
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

#[test]
#[should_panic(expected = "p:2: neither a command nor a known text: frobnicate it")]
fn unknown_commands_are_found() {
    commands("p", "text\n    frobnicate it\n");
}
