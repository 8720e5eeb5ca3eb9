//! Randomness without state: every number is a function of its keys, so the order of calls does not matter. Code that
//! generates in a fixed order uses a seeded generator; everything that depends on time uses this module.

/// Mixes two numbers into one that looks random (the finalizer of SplitMix64).
pub(crate) const fn hash_two_numbers(a: u64, b: u64) -> u64 {
    let mut z = a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns a key for a purpose: a hash of its name, so that purposes are independent.
pub(crate) const fn random_key_for_purpose(seed: u64, purpose: &str) -> u64 {
    let bytes = purpose.as_bytes();
    let mut hash = hash_two_numbers(seed, 0x5EED);
    let mut i = 0;
    while i < bytes.len() {
        hash = hash_two_numbers(hash, bytes[i] as u64 + 1);
        i += 1;
    }
    hash
}

/// Returns a share from a key, 0 ≤ share < 1.
pub(crate) fn pseudo_random_share(key: u64) -> f64 {
    (hash_two_numbers(key, 0x51A2) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns smooth noise in 0..1 along one axis: an independent value at each whole `x`, interpolated between them.
pub(crate) fn noise_1d(key: u64, x: f64) -> f64 {
    let cell = x.floor();
    let corner =
        |offset: i64| pseudo_random_share(hash_two_numbers(key, (cell as i64 + offset) as u64));
    let t = ease_in_out(x - cell);
    corner(0) * (1.0 - t) + corner(1) * t
}

/// Returns smooth noise in 0..1 over a plane.
pub(crate) fn noise_2d(key: u64, x: f64, y: f64) -> f64 {
    let row = y.floor();
    let line = |offset: i64| noise_1d(hash_two_numbers(key, (row as i64 + offset) as u64), x);
    let t = ease_in_out(y - row);
    line(0) * (1.0 - t) + line(1) * t
}

/// Returns the sum of several octaves of [`noise_2d`], each half as wide and half as strong: about −1..1.
pub(crate) fn fractal_noise(key: u64, x: f64, y: f64, octaves: u32) -> f64 {
    let mut sum = 0.0;
    let mut strength = 1.0;
    let mut total = 0.0;
    for octave in 0..octaves {
        let scale = f64::from(1_u32 << octave);
        sum += (noise_2d(hash_two_numbers(key, u64::from(octave)), x * scale, y * scale) * 2.0
            - 1.0)
            * strength;
        total += strength;
        strength *= 0.5;
    }
    sum / total
}

/// Rises from 0 to 1 with no slope at either end.
pub(crate) fn ease_in_out(t: f64) -> f64 {
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_give_equal_numbers_and_different_keys_different_ones() {
        assert_eq!(
            pseudo_random_share(random_key_for_purpose(1, "delay")),
            pseudo_random_share(random_key_for_purpose(1, "delay"))
        );
        assert_ne!(
            pseudo_random_share(random_key_for_purpose(1, "delay")),
            pseudo_random_share(random_key_for_purpose(2, "delay"))
        );
        assert_ne!(
            pseudo_random_share(random_key_for_purpose(1, "delay")),
            pseudo_random_share(random_key_for_purpose(1, "dwell"))
        );
    }

    #[test]
    fn shares_are_evenly_distributed() {
        let n = 10_000;
        let mean =
            (0..n).map(|i| pseudo_random_share(hash_two_numbers(7, i))).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.02, "mean {mean}");
    }

    #[test]
    fn noise_is_smooth_and_stays_in_range() {
        for i in 0..2_000 {
            let x = f64::from(i) * 0.013 - 7.0;
            let (a, b) = (noise_2d(3, x, x * 0.7), noise_2d(3, x + 1e-4, x * 0.7));
            assert!((0.0..=1.0).contains(&a));
            assert!((a - b).abs() < 1e-2);
        }
    }
}
