//! Random values of records and fields, for round-trip tests.

/// A value of which a test can draw a random example, as a decoder would produce it.
pub(crate) trait RandomSample {
    fn sample(chance: &mut fastrand::Rng) -> Self;
}
