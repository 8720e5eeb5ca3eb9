//! Geohashes: cells of the earth, where each further character selects one of 32 subcells.
//!
//! A cell is stored as the number made of its bits, so that the cells within a coarser one form a range.

use std::fmt;

/// Characters of a geohash, ordered by value.
const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// Bits per character.
const BITS: u32 = 5;

/// Lengths of cells that can be subscribed to (docs/protocol/channels.md).
pub const CELL_CHARS: std::ops::RangeInclusive<u32> = 4..=6;

/// A cell of 1 to 12 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GeohashCell {
    chars: u32,
    bits: u64,
}

impl GeohashCell {
    /// Returns the cell of `chars` characters (1 to 12) that contains a point in degrees.
    pub fn from_point(lat: f64, lon: f64, chars: u32) -> GeohashCell {
        let n_bits = BITS * chars.clamp(1, 12);
        // Longitude takes the first bit, so it has the odd one.
        let lon_bits = binary_fraction((lon + 180.0) / 360.0, n_bits.div_ceil(2));
        let lat_bits = binary_fraction((lat + 90.0) / 180.0, n_bits / 2);
        let bits = if n_bits.is_multiple_of(2) {
            interleave_zeros(lon_bits) << 1 | interleave_zeros(lat_bits)
        } else {
            interleave_zeros(lon_bits) | interleave_zeros(lat_bits) << 1
        };
        GeohashCell { chars: chars.clamp(1, 12), bits }
    }

    /// Parses a lower-case geohash.
    pub fn parse(text: &str) -> Option<GeohashCell> {
        if !(1..=12).contains(&text.len()) {
            return None;
        }
        let mut bits = 0;
        for byte in text.bytes() {
            let value = ALPHABET.iter().position(|&letter| letter == byte)?;
            bits = bits << BITS | value as u64;
        }
        Some(GeohashCell { chars: text.len() as u32, bits })
    }

    /// Returns the number of characters.
    pub fn char_count(self) -> u32 {
        self.chars
    }

    /// Returns the number made of the cell's bits.
    pub fn cell_number(self) -> u64 {
        self.bits
    }

    /// Returns the cell of fewer characters that contains this one.
    pub fn ancestor_cell(self, chars: u32) -> GeohashCell {
        let chars = chars.min(self.chars);
        GeohashCell { chars, bits: self.bits >> (BITS * (self.chars - chars)) }
    }

    /// Returns the numbers of the cells of `chars` characters within this one.
    pub fn descendant_numbers(self, chars: u32) -> std::ops::Range<u64> {
        let shift = BITS * chars.saturating_sub(self.chars);
        self.bits << shift..(self.bits + 1) << shift
    }
}

impl fmt::Display for GeohashCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for digit in (0..self.chars).rev() {
            let value = (self.bits >> (BITS * digit)) as usize & 31;
            f.write_str(char::from(ALPHABET[value]).encode_utf8(&mut [0; 4]))?;
        }
        Ok(())
    }
}

/// Returns the first `bits` binary digits of a number between 0 and 1.
fn binary_fraction(value: f64, bits: u32) -> u32 {
    let scale = (1_u64 << bits) as f64;
    // The upper edge of the earth belongs to its last cell; `as` saturates values outside.
    ((value * scale) as u64).min((1 << bits) - 1) as u32
}

/// Inserts a zero bit before each bit.
fn interleave_zeros(value: u32) -> u64 {
    let mut bits = u64::from(value);
    bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF;
    bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_places_have_the_expected_cells() {
        for (lat, lon, cell) in [
            (57.64911, 10.40744, "u4pruydqqvj"),
            (48.8584, 2.2945, "u09tun"),
            (-25.382708, -49.265506, "6gkzwgjz"),
            (90.0, 180.0, "zzzzzz"),
            (-90.0, -180.0, "000000"),
        ] {
            assert_eq!(GeohashCell::from_point(lat, lon, cell.len() as u32).to_string(), cell);
        }
    }

    #[test]
    fn an_invalid_geohash_is_rejected() {
        for text in ["", "a", "ilo", "U09", "u09tunquegrow", "é"] {
            assert_eq!(GeohashCell::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_cell_round_trips_and_lies_in_its_parents(lat in -90.0..90.0, lon in -180.0..180.0) {
            let cell = GeohashCell::from_point(lat, lon, 6);
            prop_assert_eq!(GeohashCell::parse(&cell.to_string()), Some(cell));
            for chars in CELL_CHARS {
                let parent = GeohashCell::from_point(lat, lon, chars);
                prop_assert_eq!(cell.ancestor_cell(chars), parent);
                prop_assert!(parent.descendant_numbers(6).contains(&cell.cell_number()));
                prop_assert!(cell.to_string().starts_with(&parent.to_string()));
            }
        }
    }
}
