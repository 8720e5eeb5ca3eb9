//! Positions in sequences.
//!
//! Offset 4 may exist in two different sequences, because the count starts again after a crash. The epoch
//! distinguishes them, so a position from an earlier life is recognized and never continued.

use std::fmt;
use std::str::FromStr;

/// One life of a sequence: 40 random bits, written as 8 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

/// Crockford's base 32, in lower case: no letters that read like digits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const CHARACTERS: usize = 8;
const BITS: u32 = 40;

impl Epoch {
    /// Returns the epoch with the lowest 40 of these bits.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << BITS) - 1))
    }

    /// Returns the 40 bits.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns the epoch of a new life; never that of [`Position::INVALID`].
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        let epoch = Self::from_bits(rng.u64(..));
        if epoch == Position::INVALID.epoch { Self(1) } else { epoch }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; CHARACTERS];
        for (n, character) in text.iter_mut().rev().enumerate() {
            *character = ALPHABET[(self.0 >> (5 * n)) as usize & 31];
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error of a text that is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the position must have the form <epoch>:<offset>")]
pub struct PositionParseError;

impl FromStr for Epoch {
    type Err = PositionParseError;

    fn from_str(text: &str) -> Result<Self, PositionParseError> {
        if text.len() != CHARACTERS {
            return Err(PositionParseError);
        }
        let mut bits = 0;
        for character in text.bytes() {
            let digit = ALPHABET.iter().position(|&c| c == character).ok_or(PositionParseError)?;
            bits = bits << 5 | digit as u64;
        }
        Ok(Self(bits))
    }
}

/// An offset and the epoch that it belongs to. Offsets start at 1; a reader at 0 has nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The epoch of the sequence.
    pub epoch: Epoch,
    /// The offset in the epoch.
    pub offset: u64,
}

impl Position {
    /// A position outside of any epoch. A client that returns with it has data that nothing continues, on any node: it
    /// gets the state, marked as a gap.
    pub const INVALID: Self = Self { epoch: Epoch(0), offset: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch, self.offset)
    }
}

impl FromStr for Position {
    type Err = PositionParseError;

    fn from_str(text: &str) -> Result<Self, PositionParseError> {
        let (epoch, offset) = text.split_once(':').ok_or(PositionParseError)?;
        // `u64::from_str` would also take a plus sign.
        if !offset.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(PositionParseError);
        }
        Ok(Self { epoch: epoch.parse()?, offset: offset.parse().map_err(|_| PositionParseError)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_epoch_has_eight_characters() {
        assert_eq!(Epoch::from_bits(0).to_string(), "00000000");
        assert_eq!(Epoch::from_bits(u64::MAX).to_string(), "zzzzzzzz");
        assert_eq!(Epoch::from_bits(33).to_string(), "00000011");
    }

    #[test]
    fn an_invalid_position_is_refused() {
        let texts = [
            "",
            "00000000",
            ":1",
            "00000000:",
            "0000000:1",
            "0000000I:1",
            "0000000A:1",
            "00000000:-1",
            "00000000:+1",
            "00000000:1:2",
            "00000000:99999999999999999999",
        ];
        for text in texts {
            assert_eq!(text.parse::<Position>(), Err(PositionParseError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_position_round_trips_through_its_text(bits: u64, offset: u64) {
            let position = Position { epoch: Epoch::from_bits(bits), offset };
            prop_assert_eq!(position.to_string().parse(), Ok(position));
        }
    }
}
