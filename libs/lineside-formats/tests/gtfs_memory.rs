//! A 2 GB line takes no more memory than a short one. The test has a process of its own, because peak memory is that of
//! the process.
#![cfg(all(feature = "gtfs", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, repeat};

use lineside_formats::{
    Error,
    gtfs::{self, DatasetLimits, FileSet, TextFiles},
};

/// A small dataset with one endless file.
struct WithLongLine {
    files: TextFiles,
    start: &'static str,
    fill: u8,
    bytes: u64,
}

impl FileSet for WithLongLine {
    fn file_names(&mut self) -> Vec<String> {
        self.files.file_names()
    }

    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
        if name != "shapes.txt" {
            return self.files.open_file(name);
        }
        let long = self.start.as_bytes().chain(repeat(self.fill).take(self.bytes));
        Ok(Some(Box::new(long.chain(&b"\na,59.1,10.1,2\n"[..]))))
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_line_of_two_gigabytes_is_skipped_in_bounded_memory() {
    let files = TextFiles::from_sections(
        "
        # agency.txt
        agency_name,agency_url,agency_timezone
        A,https://a.example,UTC
        # stops.txt
        stop_id
        # routes.txt
        route_id
        # trips.txt
        trip_id,route_id,service_id
        # stop_times.txt
        trip_id,stop_sequence
        # calendar.txt
        service_id
        # shapes.txt
        ",
    );
    let before = peak_kib();
    for (start, fill) in [
        ("shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\na,59,10,1\n", b'x'),
        ("shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\na,59,10,1\n\"", b','),
    ] {
        let mut files = WithLongLine { files: files.clone(), start, fill, bytes: 2 << 30 };
        let (timetable, problems) =
            gtfs::load_timetable(&mut files, &DatasetLimits::default()).unwrap();
        assert_eq!(timetable.row_counts()["shapes.txt"], 3);
        let points: Vec<_> =
            timetable.shapes().flat_map(|shape| timetable.shape_points(shape)).collect();
        assert_eq!(points, [(59.0, 10.0), (59.1, 10.1)]);
        let long: Vec<_> = problems
            .retained_problems()
            .iter()
            .filter(|problem| problem.code == "row_too_long")
            .collect();
        assert_eq!(long.len(), 1);
        assert_eq!((&*long[0].file, long[0].line), ("shapes.txt", Some(3)));
    }
    let grown = peak_kib() - before;
    assert!(grown < 16 << 10, "{grown} KiB");
}
