//! What a suite found: a table for people, and `target/bench/<suite>.json` for programs.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::rounds::Effort;

/// One figure of ours beside the same of others.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    what: String,
    ours: f64,
    /// What was measured beside it in the same run.
    beside: BTreeMap<String, Option<f64>>,
    unit: &'static str,
    /// What ours should be, as a ratio to something beside it or as a count; none where it is only shown.
    aim: Option<String>,
    holds: bool,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, ours: f64, unit: &'static str) -> Row {
        Row { what: what.into(), ours, beside: BTreeMap::new(), unit, aim: None, holds: true }
    }

    pub(crate) fn beside(mut self, name: &str, value: f64) -> Row {
        self.beside.insert(name.to_owned(), Some(value));
        self
    }

    /// The aim that ours is at most `factor` times what `name` was in the same run.
    pub(crate) fn at_most_times(mut self, factor: f64, name: &str) -> Row {
        if let Some(Some(value)) = self.beside.get(name) {
            self.holds = self.ours <= factor * value;
            self.aim = Some(match factor {
                1.0 => format!("at most {name}"),
                _ => format!("at most {factor} x {name}"),
            });
        }
        self
    }

    /// The aim that ours is at most `count`.
    pub(crate) fn at_most(mut self, count: f64) -> Row {
        self.holds = self.ours <= count;
        self.aim = Some(format!("at most {count}"));
        self
    }
}

/// The rows of one suite.
#[derive(Debug)]
pub(crate) struct Report {
    suite: &'static str,
    /// Small inputs show that everything runs, and no more.
    is_quick: bool,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(suite: &'static str, effort: Effort) -> Report {
        Report { suite, is_quick: effort.is_quick, rows: Vec::new() }
    }

    /// Adds `row` and shows it at once: a suite takes minutes.
    pub(crate) fn add(&mut self, mut row: Row) {
        if self.is_quick {
            row = Row { aim: None, holds: true, ..row };
        }
        println!("{}", line(&row));
        self.rows.push(row);
    }

    /// Writes the rows to `target/bench/<suite>.json`, quick ones to a file that nobody takes for them.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let folder = target_folder()?.join("bench");
        fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        let quick = if self.is_quick { "-quick" } else { "" };
        let path = folder.join(format!("{}{quick}.json", self.suite));
        let json = serde_json::to_string_pretty(&self.rows)? + "\n";
        fs::write(&path, json).with_context(|| format!("{}", path.display()))?;
        let missed = self.rows.iter().filter(|row| !row.holds).count();
        println!("\n{} rows, {missed} missed; written to {}", self.rows.len(), path.display());
        Ok(())
    }
}

/// The `target` of the repository, wherever the build itself is kept.
fn target_folder() -> anyhow::Result<PathBuf> {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = bench.parent().context("bench/ is in the repository")?;
    Ok(root.join("target"))
}

fn line(row: &Row) -> String {
    let beside: Vec<_> = row
        .beside
        .iter()
        .map(|(name, value)| format!("{name} {}", value.map_or("absent".to_owned(), figure)))
        .collect();
    let aim = match (&row.aim, row.holds) {
        (None, _) => String::new(),
        (Some(aim), true) => format!("  {aim}: holds"),
        (Some(aim), false) => format!("  {aim}: MISSED"),
    };
    format!("{:<58} {:>9} {:<6} {}{aim}", row.what, figure(row.ours), row.unit, beside.join(", "))
}

/// Three digits that matter, whatever the size.
fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_a_ratio_to_what_stands_beside() {
        let row = |ours: f64| Row::new("load", ours, "s").beside("floor", 2.0);
        assert!(row(5.0).at_most_times(2.5, "floor").holds);
        assert!(!row(5.1).at_most_times(2.5, "floor").holds);
        let shown = row(99.0).at_most_times(2.5, "nobody");
        assert!(shown.holds && shown.aim.is_none());
        assert!(!Row::new("bytes", 17.0, "B").at_most(16.0).holds);
    }

    #[test]
    fn the_json_has_the_promised_fields() {
        let row = Row::new("load", 5.0, "s").beside("floor", 2.0).at_most_times(2.5, "floor");
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"what":"load","ours":5.0,"beside":{"floor":2.0},"unit":"s","aim":"at most 2.5 x floor","holds":true}"#
        );
    }
}
