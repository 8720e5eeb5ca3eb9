//! Loads `shapes.txt`.

use std::collections::BTreeSet;

use super::{
    LimitedFileSet, TimetableLoader,
    grouping::{FirstOrFurtherGroup, RowGrouper, group_scattered_rows},
    require_columns,
    stops::read_coordinates,
    too_many_rows_error,
};
use crate::{
    Error,
    gtfs::{
        timetable::{GeoPoint, ShapeRow},
        values,
    },
};

const FILE: &str = "shapes.txt";

/// A point with its sequence number.
#[derive(Clone, Copy, Debug)]
struct SequencedShapePoint {
    sequence: u32,
    point: GeoPoint,
}

impl TimetableLoader {
    pub(super) fn load_shapes(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let mut grouping = RowGrouper::new();
        let mut scattered = BTreeSet::new();
        let mut take = |loader: &mut TimetableLoader,
                        shape,
                        part,
                        points: &mut Vec<SequencedShapePoint>| match part {
            FirstOrFurtherGroup::First => loader.store_sorted_shape_points(shape, points),
            FirstOrFurtherGroup::Further => drop(scattered.insert(shape)),
        };
        self.stream_shape_points(source, |loader, shape, point| {
            grouping
                .push_row(shape, point, |shape, part, points| take(loader, shape, part, points));
        })?;
        grouping.flush_group(|shape, part, points| take(self, shape, part, points));
        if !scattered.is_empty() {
            self.reload_scattered_shapes(source, &scattered)?;
        }
        self.shapes.points.shrink_to_fit();
        Ok(())
    }

    /// Reads shapes whose points are scattered in the file, in a second pass.
    fn reload_scattered_shapes(
        &mut self,
        source: &mut LimitedFileSet<'_>,
        scattered: &BTreeSet<u32>,
    ) -> Result<(), Error> {
        let problems = self.problems.clone();
        let mut rows = Vec::new();
        self.stream_shape_points(source, |_, shape, point| {
            if scattered.contains(&shape) {
                rows.push((shape, point));
            }
        })?;
        // The second pass finds the same problems again.
        self.problems = problems;
        group_scattered_rows(rows, |shape, points| self.store_sorted_shape_points(shape, points));
        self.drop_unused_shape_points();
        Ok(())
    }

    fn stream_shape_points(
        &mut self,
        source: &mut LimitedFileSet<'_>,
        mut each: impl FnMut(&mut TimetableLoader, u32, SequencedShapePoint),
    ) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let id = rows.find_column("shape_id");
        let [lat, lon, sequence] = ["shape_pt_lat", "shape_pt_lon", "shape_pt_sequence"]
            .map(|name| rows.find_column_checked_by_caller(name));
        require_columns(FILE, &[("shape_id", id), ("shape_pt_sequence", sequence)])?;
        let mut current = (String::new(), 0);
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let point = read_coordinates(&row, lat, lon, &mut self.problems);
            let sequence = row.parse_cell(sequence, values::parse_unsigned, &mut self.problems);
            let (Some(point), Some(sequence), false) = (point, sequence, row.get(id).is_empty())
            else {
                continue;
            };
            if current.0 != row.get(id) {
                current = (row.get(id).to_owned(), self.find_or_add_shape(row.get(id))?);
            }
            each(self, current.1, SequencedShapePoint { sequence, point });
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count(FILE, count);
        Ok(())
    }

    /// Returns the number of the shape with that id, and adds it if it is new.
    fn find_or_add_shape(&mut self, id: &str) -> Result<u32, Error> {
        let number =
            u32::try_from(self.shapes.rows.len()).map_err(|_| too_many_rows_error(FILE))?;
        let id_of = |other: u32| self.strings.get(self.shapes.rows[other as usize].id);
        if let Err(found) = self.shapes.ids.insert(id, number, id_of) {
            return Ok(found);
        }
        self.shapes.rows.push(ShapeRow { id: self.strings.intern(id), first: 0, len: 0 });
        Ok(number)
    }

    fn store_sorted_shape_points(&mut self, shape: u32, points: &mut [SequencedShapePoint]) {
        if !points.is_sorted_by_key(|point| point.sequence) {
            points.sort_by_key(|point| point.sequence);
        }
        let row = &mut self.shapes.rows[shape as usize];
        row.first = self.shapes.points.len() as u32;
        row.len = points.len() as u32;
        self.shapes.points.extend(points.iter().map(|point| point.point));
    }

    /// Removes points that the first pass stored of scattered shapes.
    fn drop_unused_shape_points(&mut self) {
        let n_points = self.shapes.rows.iter().map(|row| row.len as usize).sum();
        let mut points = Vec::with_capacity(n_points);
        for row in &mut self.shapes.rows {
            let first = points.len() as u32;
            points.extend_from_slice(&self.shapes.points[row.first as usize..][..row.len as usize]);
            row.first = first;
        }
        self.shapes.points = points;
    }
}
