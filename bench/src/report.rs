//! The results of a suite: a table for people, and `target/bench/<suite>.json` for programs.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::rounds::Effort;

/// The tolerance of "at least X": two runs of the same code differ by this on a shared machine.
const AT_LEAST_TOLERANCE: f64 = 0.95;

/// One result of ours, with those of others.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    what: String,
    ours: f64,
    /// The peers' results in the same run; `None` for a peer that is not installed.
    beside: BTreeMap<String, Option<f64>>,
    /// Published or earlier results, used for absent peers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    recorded: BTreeMap<String, f64>,
    unit: &'static str,
    /// The computation, if the result was computed and not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    computed: Option<String>,
    /// The goal for our result, as a ratio to another or as a count; `None` if it has no goal.
    aim: Option<String>,
    holds: bool,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, ours: f64, unit: &'static str) -> Row {
        Row {
            what: what.into(),
            ours,
            beside: BTreeMap::new(),
            recorded: BTreeMap::new(),
            unit,
            computed: None,
            aim: None,
            holds: true,
        }
    }

    /// Adds a peer's result, or `None` if the peer is not installed.
    pub(crate) fn beside(mut self, name: &str, value: impl Into<Option<f64>>) -> Row {
        self.beside.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a recorded result: under the name of a peer, it replaces an absent one.
    pub(crate) fn recorded(mut self, name: &str, value: f64) -> Row {
        self.recorded.insert(name.to_owned(), value);
        self
    }

    /// Marks our result as computed, and explains the computation.
    pub(crate) fn computed(mut self, computation: impl Into<String>) -> Row {
        self.computed = Some(computation.into());
        self
    }

    /// Sets the goal that our result is at most `factor` times that of `name`: of two goals both must hold.
    pub(crate) fn at_most_times(self, factor: f64, name: &str) -> Row {
        let Some((value, source)) = self.measure_of(name) else { return self };
        let holds = self.ours <= factor * value;
        self.with_aim(format!("at most {}{name}{source}", times(factor)), holds)
    }

    /// Sets the goal that our result is at least `factor` times that of `name`, within the tolerance.
    pub(crate) fn at_least_times(self, factor: f64, name: &str) -> Row {
        let Some((value, source)) = self.measure_of(name) else { return self };
        let holds = self.ours >= AT_LEAST_TOLERANCE * factor * value;
        self.with_aim(format!("at least {}{name}{source}", times(factor)), holds)
    }

    /// Sets the goal that our result is at most `count`.
    pub(crate) fn at_most(self, count: f64) -> Row {
        let holds = self.ours <= count;
        self.with_aim(format!("at most {count}"), holds)
    }

    /// Returns the result of `name`: measured in this run, or recorded, which the goal then states.
    fn measure_of(&self, name: &str) -> Option<(f64, &'static str)> {
        let measured = self.beside.get(name).copied().flatten().map(|value| (value, ""));
        measured.or_else(|| Some((*self.recorded.get(name)?, " (recorded)")))
    }

    fn with_aim(mut self, aim: String, holds: bool) -> Row {
        self.aim = Some(match self.aim {
            Some(other) => format!("{other}, {aim}"),
            None => aim,
        });
        self.holds &= holds;
        self
    }
}

fn times(factor: f64) -> String {
    if factor == 1.0 { String::new() } else { format!("{factor} x ") }
}

/// The rows of one suite.
#[derive(Debug)]
pub(crate) struct Report {
    suite: String,
    /// True for small inputs, which only test that everything runs.
    is_quick: bool,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(suite: impl Into<String>, effort: Effort) -> Report {
        Report { suite: suite.into(), is_quick: effort.is_quick, rows: Vec::new() }
    }

    /// Adds `row` and prints it at once: a suite takes minutes.
    pub(crate) fn add(&mut self, mut row: Row) {
        if self.is_quick {
            row = Row { aim: None, holds: true, ..row };
        }
        println!("{}", line(&row));
        self.rows.push(row);
    }

    /// Writes the rows to `target/bench/<suite>.json`, quick ones to a separate file.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let path = self.file("", "json")?;
        let json = serde_json::to_string_pretty(&self.rows)? + "\n";
        fs::write(&path, json).with_context(|| format!("{}", path.display()))?;
        let missed = self.rows.iter().filter(|row| !row.holds).count();
        println!("\n{} rows, {missed} missed; written to {}", self.rows.len(), path.display());
        Ok(())
    }

    /// Returns the suite's file in `target/bench` with `rest` at the end of its name.
    pub(crate) fn file(&self, rest: &str, ending: &str) -> anyhow::Result<PathBuf> {
        let quick = if self.is_quick { "-quick" } else { "" };
        Ok(folder()?.join(format!("{}{rest}{quick}.{ending}", self.suite)))
    }
}

/// Returns `target/bench` of the repository, even if the build directory is elsewhere.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = bench.parent().context("bench/ is in the repository")?;
    let folder = root.join("target/bench");
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    Ok(folder)
}

fn line(row: &Row) -> String {
    let beside = row
        .beside
        .iter()
        .map(|(name, value)| format!("{name} {}", value.map_or("absent".to_owned(), figure)));
    let recorded =
        row.recorded.iter().map(|(name, value)| format!("{name} (recorded) {}", figure(*value)));
    let computed = row.computed.iter().map(|how| format!("computed: {how}"));
    let beside: Vec<String> = beside.chain(recorded).chain(computed).collect();
    let aim = match (&row.aim, row.holds) {
        (None, _) => String::new(),
        (Some(aim), true) => format!("  {aim}: holds"),
        (Some(aim), false) => format!("  {aim}: MISSED"),
    };
    format!("{:<58} {:>9} {:<6} {}{aim}", row.what, figure(row.ours), row.unit, beside.join(", "))
}

/// Formats a number with three significant digits.
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
    fn at_least_holds_within_the_tolerance() {
        let row = |ours: f64| Row::new("rate", ours, "M/s").beside("peer", 10.0);
        assert!(row(19.1).at_least_times(2.0, "peer").holds);
        assert!(!row(18.9).at_least_times(2.0, "peer").holds);
        let both = row(19.1).beside("other", 1.0).at_least_times(2.0, "peer");
        assert!(both.clone().at_least_times(10.0, "other").holds);
        assert!(!both.clone().at_least_times(30.0, "other").at_most(20.0).holds);
        let both = both.at_most(20.0);
        assert_eq!(both.aim.as_deref(), Some("at least 2 x peer, at most 20"));
    }

    #[test]
    fn what_was_recorded_stands_in_for_a_peer_that_is_absent() {
        let row = Row::new("rate", 5.0, "M/s").beside("peer", None).recorded("peer", 10.0);
        let row = row.at_least_times(1.0, "peer");
        assert!(!row.holds);
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"what":"rate","ours":5.0,"beside":{"peer":null},"recorded":{"peer":10.0},"unit":"M/s","aim":"at least peer (recorded)","holds":false}"#
        );
        let measured = Row::new("rate", 5.0, "M/s").beside("peer", 4.0).recorded("peer", 10.0);
        assert!(measured.at_least_times(1.0, "peer").holds, "a figure of this run comes first");
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
