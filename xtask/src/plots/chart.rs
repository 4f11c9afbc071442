//! Bar charts as SVG, readable on light and on dark pages.

use std::fmt::Write as _;

const BAR: f64 = 14.0;
const GAP: f64 = 12.0;
const LEFT: f64 = 230.0;
const WIDTH: f64 = 760.0;
const TOP: f64 = 34.0;
/// Room for the value after the longest bar.
const RIGHT: f64 = 70.0;
const LEGEND: f64 = 24.0;

/// Colours of the series, which can be told apart without red and green.
const COLOURS: [&str; 4] = ["#0072b2", "#56b4e9", "#d55e00", "#e69f00"];

/// Groups of horizontal bars.
#[derive(Clone, Debug)]
pub(super) struct BarChart {
    pub(super) title: String,
    /// Names of the bars of a group; empty if each group has a single bar.
    pub(super) series: Vec<String>,
    /// Each group's label and values.
    pub(super) groups: Vec<(String, Vec<f64>)>,
}

/// As many digits as a reader needs.
fn text_of(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

impl BarChart {
    pub(super) fn svg(&self) -> String {
        let values = self.groups.iter().flat_map(|(_, values)| values);
        let largest = values.copied().fold(f64::MIN_POSITIVE, f64::max);
        let bars: usize = self.groups.iter().map(|(_, values)| values.len()).sum();
        let legend = if self.series.is_empty() { 0.0 } else { LEGEND };
        let height = TOP + legend + bars as f64 * BAR + self.groups.len() as f64 * GAP;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"8\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{}</text>\n",
            self.title
        );
        let mut line = |text: std::fmt::Arguments<'_>| {
            out.write_fmt(text).expect("a string takes all");
            out.push('\n');
        };
        for (number, (name, colour)) in self.series.iter().zip(COLOURS).enumerate() {
            let x = 8.0 + number as f64 * 150.0;
            line(format_args!(
                "<rect x=\"{x}\" y=\"{TOP}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>"
            ));
            line(format_args!("<text x=\"{}\" y=\"{}\">{name}</text>", x + 14.0, TOP + 9.0));
        }
        let mut y = TOP + legend;
        for (label, values) in &self.groups {
            let middle = y + values.len() as f64 * BAR / 2.0 + 4.0;
            line(format_args!(
                "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0
            ));
            for (value, colour) in values.iter().zip(COLOURS) {
                let width = value / largest * (WIDTH - LEFT - RIGHT);
                line(format_args!(
                    "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
                    BAR - 2.0
                ));
                if *value > 0.0 {
                    let x = LEFT + width + 4.0;
                    line(format_args!(
                        "<text x=\"{x:.1}\" y=\"{}\">{}</text>",
                        y + 10.0,
                        text_of(*value)
                    ));
                }
                y += BAR;
            }
            y += GAP;
        }
        out.push_str("</svg>\n");
        out
    }
}
