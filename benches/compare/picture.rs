//! The picture of how costs grow: both libraries, on logarithmic scales, as an SVG.

use std::fmt::Write;

use crate::Row;

/// What is drawn: a scenario, and what the reader sees above it.
const PANELS: [(&str, &str); 3] = [
    ("lookup by key", "one lookup by key"),
    ("store new names, REUSE", "one new instance, numbers reused"),
    ("fetch, ten selected, cache", "one of ten selected values"),
];

/// Width and height of the plane of a panel, and what is left around it for text.
const PLANE: (f64, f64) = (200.0, 180.0);
const MARGIN: (f64, f64) = (62.0, 44.0);
/// Powers of ten at the ends of the scales: of instances, and of nanoseconds.
const INSTANCES: (f64, f64) = (0.0, 5.0);
const TIME: (f64, f64) = (1.0, 7.0);

const NAMES: [(&str, &str); 2] = [("C library", "#666666"), ("this library", "#c2410c")];

/// Where a value is on a scale of this length.
fn place(value: f64, (from, to): (f64, f64), length: f64) -> f64 {
    (value.log10() - from) / (to - from) * length
}

/// The picture, of the rows that show it.
pub fn draw(rows: &[Row]) -> String {
    let each = PLANE.0 + MARGIN.0;
    let (width, height) = (each * 3.0 + 32.0, PLANE.1 + 2.0 * MARGIN.1 + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Time of one operation by the number of instances, C library and this library</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (number, (name, title)) in PANELS.iter().enumerate() {
        let left = number as f64 * each + MARGIN.0;
        let _ = writeln!(svg, "<g transform=\"translate({left:.0} {:.0})\">", MARGIN.1);
        let shown = rows.iter().filter(|row| row.name == *name && !row.c.is_empty());
        panel(&mut svg, title, &shown.collect::<Vec<_>>());
        svg += "</g>\n";
    }
    for (number, (name, colour)) in NAMES.iter().enumerate() {
        let (x, y) = (MARGIN.0 + 120.0 * number as f64, height - 12.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.0} {:.0}h24\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{:.0}\" y=\"{y:.0}\">{name}</text>",
            y - 4.0,
            x + 30.0
        );
    }
    svg + "</svg>\n"
}

fn panel(svg: &mut String, title: &str, rows: &[&Row]) {
    let (wide, high) = PLANE;
    let _ = writeln!(svg, "<text y=\"-14\" font-weight=\"bold\">{title}</text>");
    for (power, text) in (1..).zip(["10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]) {
        let y = high - place(10f64.powi(power), TIME, high);
        let _ = writeln!(
            svg,
            "<path d=\"M0 {y:.1}h{wide}\" stroke=\"#dddddd\"/><text x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            y + 4.0
        );
    }
    for (power, text) in (0..).zip(["1", "10", "100", "1,000", "10,000", "100,000"]) {
        let x = place(10f64.powi(power), INSTANCES, wide);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} 0v{high}\" stroke=\"#dddddd\"/><text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{text}</text>",
            high + 16.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">instances</text>",
        wide / 2.0,
        high + 31.0
    );
    for (library, (_, colour)) in NAMES.iter().enumerate() {
        let points: Vec<_> = rows
            .iter()
            .filter_map(|row| {
                let x = place(row.size as f64, INSTANCES, wide);
                let time = row.costs()[library]?;
                Some(format!("{x:.1},{:.1}", high - place(time, TIME, high)))
            })
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
    }
}
