//! An earlier state of a GBFS system, for rules on changes over time: vehicles that keep their id after a trip.
//!
//! A rented vehicle leaves the files and returns, perhaps half an hour later, elsewhere. So the earlier state is not
//! the last one but one that is half an hour to an hour old, or the first one until there is one so old.

use std::time::Duration;

use bytes::Bytes;
use lineside_sync::UnixMillis;
use lineside_validate::rules::gbfs::is_compared_with_earlier_copy;

/// Maximum size of the files of a held state, in bytes.
const STATE_BYTES_MAX: usize = 16 << 20;
/// Time between the held states: most trips are shorter.
const STATE_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// The held states of a system: at most two.
#[derive(Debug, Default)]
pub(crate) struct GbfsComparisonHistory {
    earlier: Option<RecordedGbfsFiles>,
    later: Option<RecordedGbfsFiles>,
}

/// The compared files of a system at one time.
#[derive(Debug)]
struct RecordedGbfsFiles {
    at: UnixMillis,
    files: Vec<(String, Bytes)>,
}

impl GbfsComparisonHistory {
    /// Returns the files to compare with; none before the first check has ended.
    pub(crate) fn previous_files(&self) -> &[(String, Bytes)] {
        self.earlier.as_ref().map_or(&[], |state| &state.files)
    }

    /// Records the files of a check, if the last state is old enough.
    pub(crate) fn record_files_if_due(&mut self, files: &[(String, Bytes)], at: UnixMillis) {
        let latest = self.later.as_ref().or(self.earlier.as_ref());
        if latest.is_some_and(|state| state.at > at - STATE_INTERVAL) {
            return;
        }
        let compared = files.iter().filter(|(name, _)| is_compared_with_earlier_copy(name));
        let files: Vec<(String, Bytes)> = compared.cloned().collect();
        let size: usize = files.iter().map(|(_, body)| body.len()).sum();
        if files.is_empty() || size > STATE_BYTES_MAX {
            return;
        }
        let state = RecordedGbfsFiles { at, files };
        if self.earlier.is_none() {
            self.earlier = Some(state);
        } else if let Some(later) = self.later.replace(state) {
            self.earlier = Some(later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(vehicles: &str) -> Vec<(String, Bytes)> {
        let file = |name: &str, body: &str| (name.to_owned(), Bytes::from(body.to_owned()));
        vec![file("station_status", "{}"), file("vehicle_status", vehicles)]
    }

    /// Returns the compared state after a check in each of these minutes, each with the vehicle of its minute.
    fn compared(minutes: &[i64]) -> String {
        let mut before = GbfsComparisonHistory::default();
        assert!(before.previous_files().is_empty());
        for at in minutes {
            before.record_files_if_due(&files(&at.to_string()), UnixMillis(at * 60_000));
        }
        let [(name, body)] = before.previous_files() else { return String::new() };
        assert_eq!(name, "vehicle_status");
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[test]
    fn vehicles_are_compared_with_files_of_30_to_60_minutes_ago() {
        assert_eq!(compared(&[0]), "0");
        assert_eq!(compared(&[0, 1, 29]), "0");
        assert_eq!(compared(&[0, 30, 59]), "0", "only the first report covers half an hour");
        assert_eq!(compared(&[0, 30, 60]), "30");
        assert_eq!(compared(&[0, 31, 61, 89, 90]), "31");
        assert_eq!(compared(&[0, 31, 61, 89, 91]), "61");
        assert_eq!(compared(&[0, 300, 600]), "300");
    }

    #[test]
    fn large_files_and_files_without_vehicles_are_not_retained() {
        let mut before = GbfsComparisonHistory::default();
        before.record_files_if_due(&files(&" ".repeat(STATE_BYTES_MAX + 1)), UnixMillis(0));
        assert!(before.previous_files().is_empty());
        before.record_files_if_due(
            &[("station_status".to_owned(), Bytes::from_static(b"{}"))],
            UnixMillis(1),
        );
        assert!(before.previous_files().is_empty());
        before.record_files_if_due(&files("{}"), UnixMillis(2));
        assert_eq!(before.previous_files().len(), 1);
    }
}
