//! `cargo xtask screenshot LOG COMMAND`: the picture of `esker dev` in README.md, from the recorded output of a real run:
//!
//! ```sh
//! script -q -c 'esker dev --accounts 3' dev.log
//! cargo xtask screenshot dev.log 'esker dev --accounts 3'
//! ```

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The picture.
const PICTURE: &str = "docs/images/dev.svg";

const COLUMNS: f64 = 80.0;
/// Width of a character of the font, in pixels.
const CHARACTER: f64 = 8.0;
const LINE: f64 = 17.0;
const MARGIN: f64 = 16.0;
/// Lines that the program `script` adds to its recording.
const SCRIPT_LINES: [&str; 2] = ["Script started on ", "Script done on "];

/// Writes the picture.
pub fn run(arguments: &[String]) -> Result<()> {
    let [log, command] = arguments else { bail!("cargo xtask screenshot LOG COMMAND") };
    let output = fs::read_to_string(log).with_context(|| log.clone())?;
    let path = workspace::root().join(PICTURE);
    fs::create_dir_all(path.parent().context("a picture without a folder")?)?;
    fs::write(&path, svg(command, &output)).with_context(|| PICTURE)
}

/// The appearance of a part of a line.
#[derive(Clone, Copy, Default, PartialEq)]
struct Style {
    is_bold: bool,
    /// A colour as SVG has it; empty for the normal one.
    colour: &'static str,
}

impl Style {
    /// The style after an escape sequence that selects a rendition.
    fn select(self, code: &str) -> Self {
        match code {
            "1" => Self { is_bold: true, ..self },
            "2" => Self { colour: "#8b949e", ..self },
            "31" => Self { colour: "#ff7b72", ..self },
            "32" => Self { colour: "#7ee787", ..self },
            "33" => Self { colour: "#e3b341", ..self },
            "36" => Self { colour: "#79c0ff", ..self },
            _ => Self::default(),
        }
    }
}

/// A terminal with the command and its output.
fn svg(command: &str, output: &str) -> String {
    let shown = format!("$ {command}\n{}", output.replace('\r', ""));
    let recorded = |line: &&str| !SCRIPT_LINES.iter().any(|added| line.starts_with(added));
    let lines: Vec<&str> = shown.trim_end().lines().filter(recorded).collect();
    let width = COLUMNS * CHARACTER + 2.0 * MARGIN;
    let height = lines.len() as f64 * LINE + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" fill=\"#e6edf3\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    let mut style = Style::default();
    for (number, line) in lines.into_iter().enumerate() {
        let y = MARGIN + number as f64 * LINE + 13.0;
        let spans = spans(line, &mut style);
        if !spans.is_empty() {
            let _ok = writeln!(
                out,
                "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{spans}</text>"
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// A line as text of SVG. `style` is the style at its beginning, and is then the style at its end.
fn spans(line: &str, style: &mut Style) -> String {
    let mut out = String::new();
    for (index, part) in line.split("\x1b[").enumerate() {
        let text = match (index, part.find(|c: char| c.is_ascii_alphabetic())) {
            (0, _) | (_, None) => part,
            (_, Some(end)) => {
                if part[end..].starts_with('m') {
                    *style = part[..end].split(';').fold(*style, |style, code| style.select(code));
                }
                &part[end + 1..]
            }
        };
        if text.is_empty() {
            continue;
        }
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if *style == Style::default() {
            out.push_str(&text);
            continue;
        }
        out.push_str("<tspan");
        if style.is_bold {
            out.push_str(" font-weight=\"bold\"");
        }
        if !style.colour.is_empty() {
            let _ok = write!(out, " fill=\"{}\"", style.colour);
        }
        let _ok = write!(out, ">{text}</tspan>");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_become_spans() {
        let mut style = Style::default();
        assert_eq!(
            spans("\x1b[1mEsker\x1b[0m <a> \x1b[2K\x1b[1;36mhttp://x\x1b[0m.", &mut style),
            "<tspan font-weight=\"bold\">Esker</tspan> &lt;a&gt; \
             <tspan font-weight=\"bold\" fill=\"#79c0ff\">http://x</tspan>."
        );
        assert_eq!(spans("\x1b[33mwarning", &mut style), "<tspan fill=\"#e3b341\">warning</tspan>");
        assert_eq!(
            spans("continued\x1b[0m", &mut style),
            "<tspan fill=\"#e3b341\">continued</tspan>"
        );
    }

    #[test]
    fn a_recording_becomes_a_picture() {
        let recorded = "Script started on a day\r\nready\r\n\r\nScript done on a day\r\n";
        let picture = svg("esker dev", recorded);
        let lines: Vec<&str> = picture.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "<text x=\"16\" y=\"29\" xml:space=\"preserve\">$ esker dev</text>",
                "<text x=\"16\" y=\"46\" xml:space=\"preserve\">ready</text>",
                "</svg>"
            ]
        );
    }
}
