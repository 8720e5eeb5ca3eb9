//! Estimates the memory that JSON takes once it is parsed.

/// Bytes of a parsed object: the first member allocates space for eleven.
const OBJECT_BYTES: u64 = 768;
/// Bytes of a value in a list or an object.
const VALUE_BYTES: u64 = 72;

/// Returns an upper bound of the memory that JSON takes as parsed values, in bytes.
pub fn estimate_json_memory(json: &[u8]) -> u64 {
    let used_memory = json.iter().map(|byte| match byte {
        b'{' => OBJECT_BYTES,
        // A full list doubles its capacity, and a long object has up to half of its capacity free.
        b',' | b'[' => 2 * VALUE_BYTES,
        _ => 1,
    });
    used_memory.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn json_memory_is_estimated_from_the_size_of_a_value() {
        let member = size_of::<String>() + size_of::<Value>();
        assert!(11 * member as u64 + 64 <= OBJECT_BYTES && member as u64 <= VALUE_BYTES);
        assert_eq!(estimate_json_memory(b"{}"), OBJECT_BYTES + 1);
        assert_eq!(estimate_json_memory(b"[0,1]"), 4 * VALUE_BYTES + 3);
        assert_eq!(estimate_json_memory(b""), 0);
    }
}
