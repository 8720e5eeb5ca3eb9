//! Shapes: the paths of vehicles, as points of 2 × i32.

use super::{RowNumberById, ShapeIdx, TextId, Timetable, stops::GeoPoint};

#[derive(Debug)]
pub(crate) struct ShapeRow {
    pub(crate) id: TextId,
    pub(crate) first: u32,
    pub(crate) len: u32,
}

#[derive(Debug, Default)]
pub(crate) struct ShapeTable {
    pub(crate) rows: Vec<ShapeRow>,
    pub(crate) ids: RowNumberById,
    pub(crate) points: Vec<GeoPoint>,
}

impl ShapeTable {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<ShapeRow>()
            + self.ids.memory_bytes()
            + self.points.capacity() * size_of::<GeoPoint>()
    }

    fn shape_points(&self, idx: ShapeIdx) -> &[GeoPoint] {
        let row = &self.rows[idx.get()];
        &self.points[row.first as usize..][..row.len as usize]
    }
}

impl Timetable {
    /// Returns the shapes, in the order in which they first appear in the file.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = ShapeIdx> {
        (0..self.shapes.rows.len() as u32).map(ShapeIdx::new)
    }

    /// Returns the points of a shape in order: latitude and longitude in degrees.
    pub fn shape_points(&self, idx: ShapeIdx) -> impl ExactSizeIterator<Item = (f64, f64)> {
        self.shapes.shape_points(idx).iter().map(|point| point.to_degrees())
    }

    /// Returns the `shape_id`.
    pub fn shape_id(&self, idx: ShapeIdx) -> &str {
        self.strings.get(self.shapes.rows[idx.get()].id)
    }

    /// Returns the shape with that `shape_id`.
    pub fn find_shape(&self, id: &str) -> Option<ShapeIdx> {
        let id_of = |number: u32| self.strings.get(self.shapes.rows[number as usize].id);
        self.shapes.ids.find_row_number(id, id_of).map(ShapeIdx::new)
    }
}
