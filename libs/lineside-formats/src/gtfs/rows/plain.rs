//! Finds records without quotes, which nearly all are: in one pass, eight bytes at a time, and without copying.

const LOWS: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = LOWS * 0x80;
/// Above all bytes that have a meaning in a record: line ends, quotes and commas.
const ABOVE_SIGNS: u64 = b',' as u64 + 1;

/// A record without quotes.
pub(super) struct UnquotedRecord {
    /// The length in bytes without the line end, which is one byte.
    pub(super) len: usize,
    pub(super) n_fields: usize,
    /// True if the line end is a carriage return instead of a line feed.
    pub(super) has_carriage_return: bool,
}

/// Finds the record at the beginning of `input`, and writes the ends of its fields, each before its comma. Returns
/// `None` if the record has a quote, is not UTF-8, has more fields than `ends` holds, or extends (nearly) to the end of
/// `input`. The general parser handles these cases.
#[inline]
pub(super) fn find_unquoted_record(input: &[u8], ends: &mut [usize]) -> Option<UnquotedRecord> {
    let (words, _) = input.as_chunks::<8>();
    let (mut n_ends, mut above_ascii) = (0, 0);
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        above_ascii |= word & HIGHS;
        // Sets the high bit of each byte below the bound: no byte borrows from its neighbor.
        let mut signs = !((word | HIGHS) - LOWS * ABOVE_SIGNS) & !word & HIGHS;
        while signs != 0 {
            let bit = signs.trailing_zeros();
            let position = at * 8 + bit as usize / 8;
            match (word >> (bit - 7)) as u8 {
                b',' => {
                    *ends.get_mut(n_ends)? = position;
                    n_ends += 1;
                }
                b'"' => return None,
                sign @ (b'\n' | b'\r') => {
                    *ends.get_mut(n_ends)? = position;
                    if above_ascii != 0 {
                        std::str::from_utf8(&input[..position]).ok()?;
                    }
                    let has_carriage_return = sign == b'\r';
                    return Some(UnquotedRecord {
                        len: position,
                        n_fields: n_ends + 1,
                        has_carriage_return,
                    });
                }
                _ => {}
            }
            signs &= signs - 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(input: &[u8]) -> Option<Vec<usize>> {
        let mut ends = [0; 4];
        let plain = find_unquoted_record(input, &mut ends)?;
        assert_eq!(ends[plain.n_fields - 1], plain.len);
        Some(ends[..plain.n_fields].to_vec())
    }

    #[test]
    fn plain_fields_end_at_commas_and_at_the_line_end() {
        assert_eq!(fields(b"ab,,c\n........"), Some(vec![2, 3, 5]));
        assert_eq!(fields(b"\r......."), Some(vec![0]));
        assert_eq!(fields(b"a b+c#!\x01-,\xC3\xA9\nmore...."), Some(vec![9, 12]));
    }

    #[test]
    fn the_fast_path_declines_quoted_or_unusual_lines() {
        for input in [
            &b"a,\"b\"\n........"[..],
            b"a,\xFF\n........",
            b"a,b",
            b"1,2,3,4,5\n......",
            b"........a\n",
        ] {
            assert_eq!(fields(input), None, "{input:?}");
        }
    }
}
