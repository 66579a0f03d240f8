//! The picture of how costs grow: both libraries, on logarithmic scales, as an SVG.

use std::fmt::Write;

/// What is drawn: a scenario, what the reader sees above it, and the sizes.
pub const PANELS: [(&str, &str, [u64; 4]); 3] = [
    ("lookup by key", "one lookup by key", [100, 1_000, 10_000, 50_000]),
    (
        "store new names, REUSE",
        "one new instance, numbers reused",
        [100, 1_000, 10_000, 50_000],
    ),
    (
        "fetch, ten selected, cache",
        "one of ten selected values",
        [100, 1_000, 10_000, 50_000],
    ),
];

/// Nanoseconds at the sizes of a panel: the C library's, and ours.
pub type Curves = [[f64; 4]; 2];

/// Width and height of the plane of a panel, and what is left around it for text.
const PLANE: (f64, f64) = (200.0, 180.0);
const MARGIN: (f64, f64) = (62.0, 44.0);
/// Powers of ten at the ends of the scales: of instances, and of nanoseconds.
const INSTANCES: (f64, f64) = (2.0, 5.0);
const TIME: (f64, f64) = (1.0, 7.0);

const NAMES: [(&str, &str); 2] = [("C library", "#666666"), ("this library", "#c2410c")];

/// Where a value is on a scale of this length.
fn place(value: f64, (from, to): (f64, f64), length: f64) -> f64 {
    (value.log10() - from) / (to - from) * length
}

/// The picture.
pub fn draw(panels: &[Curves; 3]) -> String {
    let each = PLANE.0 + MARGIN.0;
    let (width, height) = (each * 3.0 + 32.0, PLANE.1 + 2.0 * MARGIN.1 + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Time of one operation by the number of instances, C library and this library</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (number, ((_, title, sizes), curves)) in PANELS.iter().zip(panels).enumerate() {
        let left = number as f64 * each + MARGIN.0;
        let _ = writeln!(svg, "<g transform=\"translate({left:.0} {:.0})\">", MARGIN.1);
        panel(&mut svg, title, sizes, curves);
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

fn panel(svg: &mut String, title: &str, sizes: &[u64; 4], curves: &Curves) {
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
    for (power, text) in (2..).zip(["100", "1,000", "10,000", "100,000"]) {
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
    for (times, (_, colour)) in curves.iter().zip(NAMES) {
        let points: Vec<_> = sizes
            .iter()
            .zip(times)
            .map(|(size, time)| {
                let x = place(*size as f64, INSTANCES, wide);
                format!("{x:.1},{:.1}", high - place(*time, TIME, high))
            })
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
    }
}
