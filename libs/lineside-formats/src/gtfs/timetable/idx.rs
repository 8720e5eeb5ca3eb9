//! Indices: a small number for each thing of a timetable, valid for that timetable only.

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The index of that number, counted from 0 in the order of the file.
            pub const fn new(number: u32) -> $name {
                $name(number)
            }

            /// The number, to index a slice with.
            pub const fn get(self) -> usize {
                self.0 as usize
            }

            /// The number as it is kept.
            pub const fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

indices! {
    /// A row of `agency.txt`.
    AgencyIdx
    /// A row of `stops.txt`.
    StopIdx
    /// A row of `routes.txt`.
    RouteIdx
    /// A row of `trips.txt`.
    TripIdx
    /// A `service_id` of `calendar.txt` or `calendar_dates.txt`.
    ServiceIdx
    /// A `shape_id` of `shapes.txt`.
    ShapeIdx
    /// A sequence of calls that trips of one route share.
    PatternIdx
}

/// Stands for "none" where an index is kept as a bare number.
pub(crate) const NONE: u32 = u32::MAX;

/// The number, unless it stands for none.
pub(crate) fn number_unless_none(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}
