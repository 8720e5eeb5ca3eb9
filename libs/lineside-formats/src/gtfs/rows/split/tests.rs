//! Compares records of texts that are cut anywhere with the csv crate's records of the whole text.

use proptest::prelude::*;

use super::*;

/// A reader that returns a few bytes at a time.
struct Slowly<'a>(&'a [u8], usize);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn split(text: &[u8], step: usize) -> Vec<(u64, Vec<String>)> {
    records(CsvSplitter::new(Slowly(text, step), 0))
}

/// Splits the text in place, in a buffer that has other bytes after it.
fn split_over(text: &[u8]) -> Vec<(u64, Vec<String>)> {
    let buffer = [text, b"\",x\0\n\"y"].concat();
    records(CsvSplitter::<io::Empty>::from_buffer(buffer, text.len(), 0))
}

fn records(mut splitter: CsvSplitter<impl Read>) -> Vec<(u64, Vec<String>)> {
    let mut records = Vec::new();
    loop {
        match splitter.find_next_record().unwrap() {
            RecordSearchResult::Record => {
                let record = splitter.current_record();
                let field = |at| String::from_utf8(record.field_bytes(at).to_vec()).unwrap();
                records.push((splitter.record_line(), (0..record.len()).map(field).collect()));
            }
            RecordSearchResult::TooLong(line) => {
                records.push((line, vec!["(too long)".to_owned()]))
            }
            RecordSearchResult::End => return records,
        }
    }
}

fn check(text: &str, expected: &[(u64, &[&str])]) {
    for step in [0, 1, 3, 1_000] {
        let text = text.as_bytes();
        let found = if step == 0 { split_over(text) } else { split(text, step) };
        let found: Vec<(u64, Vec<&str>)> = found
            .iter()
            .map(|(line, fields)| (*line, fields.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(u64, Vec<&str>)> =
            expected.iter().map(|(line, f)| (*line, f.to_vec())).collect();
        assert_eq!(found, expected, "{} by {step}", text.escape_ascii());
    }
}

#[test]
fn every_kind_of_line_ending_is_accepted() {
    let rows: &[(u64, &[&str])] = &[(1, &["a", "b"]), (2, &["c", ""])];
    check("a,b\nc,\n", rows);
    check("a,b\r\nc,", rows);
    check("a,b\rc,\r", rows);
    check("a,b\r\n\n\nc,\r\n", &[(1, &["a", "b"]), (4, &["c", ""])]);
    check("", &[]);
    check("\n\r\n", &[]);
}

#[test]
fn quoted_fields_may_contain_commas_quotes_and_line_breaks() {
    check("\"a,b\",c\n", &[(1, &["a,b", "c"])]);
    check("\"say \"\"hi\"\"\"\r\nx", &[(1, &["say \"hi\""]), (2, &["x"])]);
    check("a,\"b\nc\"\nd,e\n", &[(1, &["a", "b\nc"]), (3, &["d", "e"])]);
    check("\"a\"\r\"b\"\rc", &[(1, &["a"]), (2, &["b"]), (3, &["c"])]);
    check("a\n\"\"\nb", &[(1, &["a"]), (2, &[""]), (3, &["b"])]);
    check("a,\"never closed\nb", &[(1, &["a", "never closed\nb"])]);
}

#[test]
fn latin1_is_detected_per_field() {
    let mut splitter = CsvSplitter::new(&b"caf\xE9,na\xC3\xAFve\n"[..], 0);
    assert_eq!(splitter.find_next_record().unwrap(), RecordSearchResult::Record);
    let record = splitter.current_record();
    assert!(splitter.is_latin1());
    let fields = [0, 1, 2].map(|at| std::str::from_utf8(record.field_bytes(at)).unwrap());
    assert_eq!(fields, ["café", "naïve", ""]);
}

#[test]
fn an_overlong_line_is_skipped_in_bounded_memory() {
    let mut text = b"a,b\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 10 * CHUNK_BYTES));
    text.extend(b"\nc,d\n");
    let mut splitter = CsvSplitter::new(text.as_slice(), 0);
    for (line, expected) in [
        (1, RecordSearchResult::Record),
        (2, RecordSearchResult::TooLong(2)),
        (3, RecordSearchResult::Record),
        (3, RecordSearchResult::End),
    ] {
        assert_eq!(splitter.find_next_record().unwrap(), expected);
        assert!(expected == RecordSearchResult::End || splitter.record_line == line);
    }
    assert!(splitter.buffer.len() <= 3 * CHUNK_BYTES, "{}", splitter.buffer.len());
}

#[test]
fn an_unclosed_quote_loses_only_one_row() {
    let mut text = b"a,\"b\n".to_vec();
    let n_rows = 20_000_u64;
    for row in 0..n_rows {
        text.extend(format!("row {row},x\n").bytes());
    }
    let records = split(&text, 10_000);
    assert_eq!(records.len() as u64, n_rows + 1);
    assert_eq!(records[0], (1, vec!["(too long)".to_owned()]));
    assert_eq!(records[1], (2, vec!["row 0".to_owned(), "x".to_owned()]));
    assert_eq!(records.last().unwrap().0, n_rows + 1);
}

#[test]
fn unclosed_quotes_are_split_in_linear_time() {
    // Each of these lines, read alone, opens a quote that the next line's first quote closes and reopens.
    let text = "a\",\"\n".repeat(400_000);
    let records = split(text.as_bytes(), 10_000);
    assert!(records.len() < 100, "{}", records.len());
}

fn oracle(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    reader
        .byte_records()
        .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
        .collect()
}

proptest! {
    #[test]
    fn records_equal_those_of_the_csv_crate(text in "[ab,\"\r\n]{0,60}", step in 1_usize..9) {
        let found: Vec<Vec<Vec<u8>>> = split(text.as_bytes(), step)
            .into_iter()
            .map(|(_, fields)| fields.into_iter().map(String::into_bytes).collect())
            .collect();
        prop_assert_eq!(found, oracle(text.as_bytes()));
    }

    #[test]
    fn records_without_quotes_equal_those_of_the_csv_crate(
        text in "[a-cé ,\r\n-]{0,90}(\"x,\"|\n)[a-cé,\n]{0,60}",
        step in 1_usize..90,
    ) {
        let found: Vec<Vec<Vec<u8>>> = split(text.as_bytes(), step)
            .into_iter()
            .map(|(_, fields)| fields.into_iter().map(String::into_bytes).collect())
            .collect();
        prop_assert_eq!(found, oracle(text.as_bytes()));
    }

    #[test]
    fn splitting_any_bytes_does_not_panic(bytes: Vec<u8>, step in 1_usize..40) {
        split(&bytes, step);
    }
}
