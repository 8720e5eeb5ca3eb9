//! Plots: a rate or a time as senders, readers, threads or sessions double.
//!
//! Both axes are logarithms of base 2, so that linear scaling with the number of threads is a diagonal, and peers that
//! are a hundred times apart are both visible.

use std::ops::Range;

use anyhow::{Context as _, anyhow};
use plotters::prelude::*;

use crate::{report, rounds::Effort};

const SIZE: (u32, u32) = (960, 600);
const FONT: &str = "sans-serif";
/// Colors that color-blind readers can distinguish; ours is the first.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(150, 110, 50),
];

/// One contender's line.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// The number of senders, readers, threads or sessions, and the result; points without positive numbers are left
    /// out.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Series {
    pub(crate) fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points }
    }

    /// Returns the drawn points.
    fn drawn(&self) -> Vec<(f64, f64)> {
        let is_drawn = |(x, y): &&(f64, f64)| *x > 0.0 && *y > 0.0 && y.is_finite();
        self.points.iter().filter(is_drawn).map(|(x, y)| (x.log2(), y.log2())).collect()
    }
}

/// The series in one plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) name: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) series: Vec<Series>,
}

impl Plot {
    /// Draws `target/bench/<suite>-<name>.svg`.
    pub(crate) fn draw(&self, suite: &str, effort: Effort) -> anyhow::Result<()> {
        let quick = if effort.is_quick { "-quick" } else { "" };
        let path = report::folder()?.join(format!("{suite}-{}{quick}.svg", self.name));
        let mut svg = String::new();
        self.draw_into(&mut svg).map_err(|error| anyhow!("{}: {error}", self.name))?;
        std::fs::write(&path, svg).with_context(|| format!("{}", path.display()))?;
        println!("drawn: {}", path.display());
        Ok(())
    }

    fn draw_into(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (plot, legend) = area.split_horizontally(SIZE.0 * 3 / 4);
        let points: Vec<(f64, f64)> = self.series.iter().flat_map(Series::drawn).collect();
        let (xs, ys) = (whole(points.iter().map(|p| p.0)), whole(points.iter().map(|p| p.1)));
        let mut chart = ChartBuilder::on(&plot)
            .caption(self.name, (FONT, 24))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(xs.clone(), ys.clone())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(labels(&xs))
            .y_labels(labels(&ys))
            .x_label_formatter(&power)
            .y_label_formatter(&power)
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style((FONT, 15))
            .axis_desc_style((FONT, 17))
            .draw()?;
        let drawn = self.series.iter().filter(|series| !series.drawn().is_empty());
        for (at, series) in drawn.enumerate() {
            let color = COLORS[at % COLORS.len()];
            // Ours is the thick line; after the last color, lines are thin and their points hollow.
            let style = color.stroke_width(if at == 0 { 4 } else { 2 });
            chart.draw_series(LineSeries::new(series.drawn(), style))?;
            let mark: ShapeStyle = if at < COLORS.len() { color.filled() } else { color.into() };
            chart
                .draw_series(series.drawn().into_iter().map(|point| Circle::new(point, 4, mark)))?;
            let height = 56 + 22 * i32::try_from(at)?;
            legend.draw(&PathElement::new(vec![(0, height), (24, height)], style))?;
            legend.draw(&Circle::new((12, height), 4, mark))?;
            legend.draw(&Text::new(series.name.clone(), (32, height - 5), (FONT, 15)))?;
        }
        area.present()?;
        Ok(())
    }
}

/// Returns the range of whole powers around `values`.
fn whole(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let low = values.clone().fold(f64::INFINITY, f64::min).floor();
    let high = values.fold(f64::NEG_INFINITY, f64::max).ceil();
    if low < high {
        low..high
    } else if low.is_finite() {
        low - 1.0..low + 1.0
    } else {
        0.0..1.0
    }
}

/// Returns the number of labels: one for each power, or fewer if they would be too many.
fn labels(range: &Range<f64>) -> usize {
    ((range.end - range.start) as usize + 1).min(14)
}

/// Formats the value of an axis position.
fn power(exponent: &f64) -> String {
    let value = exponent.exp2();
    match value {
        _ if (exponent - exponent.round()).abs() > 1e-6 => String::new(),
        big if big >= 1e6 => format!("{:.0} M", big / 1e6),
        big if big >= 1.0 => format!("{big:.0}"),
        small if small >= 0.1 => format!("{small:.3}").trim_end_matches('0').to_owned(),
        small => format!("{small:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Plot {
        let threads = [1.0, 2.0, 4.0, 16.0];
        let series = |name: &str, rates: [f64; 4]| {
            Series::new(name, threads.into_iter().zip(rates).collect())
        };
        let series = vec![
            series("Lineside", [28.0, 116.0, 121.0, 100.0]),
            series("kanal", [53.6, 51.0, 55.0, 46.6]),
            series("tokio", [5.96, 5.35, 1.56, 0.626]),
            series("absent", [f64::NAN; 4]),
        ];
        Plot { name: "mailbox", x: "senders", y: "million messages a second", series }
    }

    #[test]
    fn a_plot_names_its_axes_and_its_lines() {
        let mut svg = String::new();
        plot().draw_into(&mut svg).unwrap();
        for text in
            ["mailbox", "senders", "million messages a second", "kanal", "\n128\n", "\n0.5\n"]
        {
            assert!(svg.contains(text), "{text:?} in {svg}");
        }
    }

    #[test]
    fn a_plot_without_a_point_is_drawn_all_the_same() {
        let mut svg = String::new();
        Plot { series: Vec::new(), ..plot() }.draw_into(&mut svg).unwrap();
        let one = vec![Series::new("one", vec![(1.0, 1.0)])];
        Plot { series: one, ..plot() }.draw_into(&mut svg).unwrap();
    }

    #[test]
    fn an_axis_is_labeled_in_powers() {
        let labels = [-2.0, 0.0, 1.0, 6.0, 0.5, 20.0].map(|exponent| power(&exponent));
        assert_eq!(labels, ["0.25", "1", "2", "64", "", "1 M"]);
    }
}
