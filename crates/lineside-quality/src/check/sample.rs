//! A report on a small built-in schedule, as an example of reports.

use std::io::Cursor;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_formats::Error;
use lineside_formats::gtfs::{TableWriter as _, ZipTableWriter};
use lineside_model::SiriIdMapping;
use lineside_sync::UnixMillis;

use super::{
    CheckPlan, CheckReadProgress, CheckReport, GbfsSystemCheckFiles, ParsedReportJson, check_input,
};

/// Maximum number of findings of one kind.
const SAMPLES: usize = 5;

/// A schedule with a stop at 0° north, 0° east, an expired service, a trip whose route is missing, and an unknown file.
const FILES: [(&str, &str); 7] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\nA,Sample Transit,https://example.org,Europe/Oslo\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon\nS1,Harbour Square,59.900,10.700\nS2,City Hall,0,0\n",
    ),
    ("routes.txt", "route_id,agency_id,route_short_name,route_type\nR1,A,1,3\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nD,1,1,1,1,1,1,1,20200101,20201231\n",
    ),
    ("trips.txt", "route_id,service_id,trip_id\nR1,D,T1\nR9,D,T2\n"),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\nT1,08:00:00,08:00:00,S1,1\nT1,08:10:00,08:10:00,S2,2\nT2,09:00:00,09:00:00,S1,1\nT2,09:10:00,09:10:00,S2,2\n",
    ),
    ("drivers.txt", "driver_id\n1\n"),
];

/// Returns the report on the sample at a time; `None` if it cannot be made.
pub fn sample_report(now: UnixMillis) -> Option<ParsedReportJson> {
    let at = Timestamp::from_millisecond(now.0).ok()?;
    let body = zip_sample_schedule().ok()?;
    let plan = CheckPlan {
        input: "sample.zip".to_owned(),
        today: at.to_zoned(TimeZone::UTC).date(),
        at: at.to_string(),
        now: at.as_second(),
        schedule: None,
        previous: None,
        ids: SiriIdMapping::Same,
        country: None,
        threads: 1,
        ignored: Vec::new(),
        output: None,
        samples: SAMPLES,
        has_places: true,
        memory: None,
        files: GbfsSystemCheckFiles::default(),
    };
    let checked: CheckReport =
        check_input(&body, plan, &CheckReadProgress::default(), &|| 0.0).ok()?;
    let json = serde_json::to_vec(&checked.to_report_json()).ok()?;
    let mut read = ParsedReportJson::from_json(&json).ok()?;
    read.rows = checked.rows;
    read.outline = checked.outline;
    Some(read)
}

fn zip_sample_schedule() -> Result<Bytes, Error> {
    let mut tables = ZipTableWriter::new(Cursor::new(Vec::new()));
    for (name, text) in FILES {
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        tables.begin_table(name, &lines.next().unwrap_or_default())?;
        for row in lines {
            tables.write_row(&row)?;
        }
    }
    Ok(tables.finish_archive()?.into_inner().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_findings_with_their_rows() {
        let read = sample_report(UnixMillis(1_781_510_400_000)).unwrap();
        let codes: Vec<&str> = read.findings.iter().map(|it| it.code.as_str()).collect();
        assert!(
            codes.contains(&"foreign_key_violation") && codes.contains(&"unknown_file"),
            "{codes:?}"
        );
        assert!(read.rows.iter().any(|row| row.text == "R9,D,T2"), "{:?}", read.rows);
        assert_eq!(read.input, "sample.zip");
    }
}
