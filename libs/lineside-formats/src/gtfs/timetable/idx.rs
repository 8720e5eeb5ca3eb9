//! Indices: a number for each object of a timetable, valid only in that timetable.

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// Creates an index from a number, counted from 0 in the order of the file.
            pub const fn new(number: u32) -> $name {
                $name(number)
            }

            /// Returns the number as an index into a slice.
            pub const fn get(self) -> usize {
                self.0 as usize
            }

            /// Returns the number as it is stored.
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

/// The value for "none" where an index is stored as a plain number.
pub(crate) const NONE: u32 = u32::MAX;

/// Returns the number unless it is [`NONE`].
pub(crate) fn index_unless_none(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}
