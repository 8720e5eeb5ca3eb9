//! A spatial index: square cells of one size over the whole plane.

use super::plan;
use super::plane::PlanePoint;

#[derive(Debug)]
pub(crate) struct SpatialGrid<T> {
    cell: f64,
    corner: PlanePoint,
    width: usize,
    height: usize,
    items: Vec<Vec<T>>,
}

impl<T: Copy> SpatialGrid<T> {
    pub(crate) fn new(cell: f64) -> Self {
        let size = |half: f64| (half * 2.0 / cell).ceil() as usize + 1;
        let (width, height) = (size(plan::HALF_EXTENT.x), size(plan::HALF_EXTENT.y));
        let corner = plan::EXTENT_CENTRE - plan::HALF_EXTENT;
        Self { cell, corner, width, height, items: vec![Vec::new(); width * height] }
    }

    fn cell_of_point(&self, p: PlanePoint) -> (usize, usize) {
        let local = (p - self.corner) * (1.0 / self.cell);
        (
            (local.x.max(0.0) as usize).min(self.width - 1),
            (local.y.max(0.0) as usize).min(self.height - 1),
        )
    }

    pub(crate) fn insert(&mut self, p: PlanePoint, item: T) {
        let (column, row) = self.cell_of_point(p);
        self.items[row * self.width + column].push(item);
    }

    /// Inserts an item into every cell that the segment's bounding box touches.
    pub(crate) fn insert_segment(&mut self, a: PlanePoint, b: PlanePoint, item: T) {
        let (c0, r0) = self.cell_of_point(PlanePoint { x: a.x.min(b.x), y: a.y.min(b.y) });
        let (c1, r1) = self.cell_of_point(PlanePoint { x: a.x.max(b.x), y: a.y.max(b.y) });
        for row in r0..=r1 {
            for column in c0..=c1 {
                self.items[row * self.width + column].push(item);
            }
        }
    }

    /// Returns the items in the cells within `reach` of `p`; an item may occur more than once.
    pub(crate) fn items_near(&self, p: PlanePoint, reach: f64) -> impl Iterator<Item = T> + '_ {
        let (c0, r0) = self.cell_of_point(PlanePoint { x: p.x - reach, y: p.y - reach });
        let (c1, r1) = self.cell_of_point(PlanePoint { x: p.x + reach, y: p.y + reach });
        (r0..=r1).flat_map(move |row| {
            self.items[row * self.width + c0..=row * self.width + c1].iter().flatten().copied()
        })
    }
}
