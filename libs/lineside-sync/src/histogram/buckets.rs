//! The mapping of values to buckets: linear within a power of two, logarithmic beyond.

/// Returns the number of buckets that all values of a `u64` need.
pub(super) const fn bucket_count(bits: u32) -> usize {
    (65 - bits as usize) << bits
}

#[inline]
pub(super) const fn bucket_index(bits: u32, value: u64) -> usize {
    // Values below 2^bits are treated like those of the next power of two: each has its own bucket.
    let shift = (63 - bits) - (value | (1 << bits)).leading_zeros();
    ((shift as usize) << bits) + (value >> shift) as usize
}

pub(super) const fn greatest_value_of_bucket(bits: u32, bucket: usize) -> u64 {
    let Some(shift) = (bucket >> bits).checked_sub(1) else { return bucket as u64 };
    let top = (bucket - (shift << bits)) as u64;
    (top << shift) | ((1 << shift) - 1)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous() {
        // A million buckets take too long under miri.
        let precisions: &[u32] = if cfg!(miri) { &[0, 1, 5] } else { &[0, 1, 5, 7, 16] };
        for &bits in precisions {
            let mut next = Some(0_u64);
            for bucket in 0..bucket_count(bits) {
                let least = next.expect("every bucket has values");
                let greatest = greatest_value_of_bucket(bits, bucket);
                assert_eq!(
                    (bucket_index(bits, least), bucket_index(bits, greatest)),
                    (bucket, bucket)
                );
                assert!((greatest - least) as f64 <= least as f64 / (1_u64 << bits) as f64);
                next = greatest.checked_add(1);
            }
            assert_eq!(next, None, "the last bucket ends with the largest value");
        }
    }

    #[test]
    fn small_values_are_exact() {
        for value in 0..64 {
            assert_eq!(greatest_value_of_bucket(5, bucket_index(5, value)), value);
        }
        assert_eq!(greatest_value_of_bucket(5, bucket_index(5, 64)), 65);
    }
}
