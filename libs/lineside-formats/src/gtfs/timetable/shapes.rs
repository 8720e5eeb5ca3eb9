//! Shapes: the ways that vehicles take, as points of 2 × i32.

use super::{Ids, ShapeIdx, Text, Timetable, stops::Point};

#[derive(Debug)]
pub(crate) struct ShapeRow {
    pub(crate) id: Text,
    pub(crate) first: u32,
    pub(crate) len: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Shapes {
    pub(crate) rows: Vec<ShapeRow>,
    pub(crate) ids: Ids,
    pub(crate) points: Vec<Point>,
}

impl Shapes {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<ShapeRow>()
            + self.ids.memory_bytes()
            + self.points.capacity() * size_of::<Point>()
    }

    fn points_of(&self, idx: ShapeIdx) -> &[Point] {
        let row = &self.rows[idx.get()];
        &self.points[row.first as usize..][..row.len as usize]
    }
}

impl Timetable {
    /// The shapes, in the order in which they first appear in the file.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = ShapeIdx> {
        (0..self.shapes.rows.len() as u32).map(ShapeIdx::new)
    }

    /// The points of a shape in their order: latitude and longitude in degrees.
    pub fn shape(&self, idx: ShapeIdx) -> impl ExactSizeIterator<Item = (f64, f64)> {
        self.shapes.points_of(idx).iter().map(|point| point.degrees())
    }

    /// The `shape_id`.
    pub fn shape_id(&self, idx: ShapeIdx) -> &str {
        self.strings.get(self.shapes.rows[idx.get()].id)
    }

    /// The shape with that `shape_id`.
    pub fn find_shape(&self, id: &str) -> Option<ShapeIdx> {
        let id_of = |number: u32| self.strings.get(self.shapes.rows[number as usize].id);
        self.shapes.ids.find(id, id_of).map(ShapeIdx::new)
    }
}
