//! A writer of JSON objects, member by member. Empty, zero and false values are left out, as in the protobuf form.

use std::fmt::Write as _;

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::json;

pub(super) struct JsonObjectWriter<'a> {
    into: &'a mut BytesMut,
    is_empty: bool,
}

impl<'a> JsonObjectWriter<'a> {
    pub(super) fn begin_object(into: &'a mut BytesMut) -> Self {
        into.put_u8(b'{');
        Self { into, is_empty: true }
    }

    /// Continues an object that was opened elsewhere and already has a member.
    pub(super) fn continue_open_object(into: &'a mut BytesMut) -> Self {
        Self { into, is_empty: false }
    }

    pub(super) fn close_object(self) {
        self.into.put_u8(b'}');
    }

    pub(super) fn write_text_unless_empty(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.write_text_or_empty(name, value);
        }
    }

    pub(super) fn write_text_or_empty(&mut self, name: &str, value: &str) {
        self.write_member_name(name);
        json::write_json_string(value, self.into);
    }

    pub(super) fn write_number_unless_zero(&mut self, name: &str, value: u64) {
        if value > 0 {
            self.write_member_name(name);
            let _ = write!(self.into, "{value}");
        }
    }

    pub(super) fn write_flag_if_true(&mut self, name: &str, value: bool) {
        if value {
            self.write_member_name(name);
            self.into.put_slice(b"true");
        }
    }

    /// Writes a value that is JSON already; an empty value becomes `null`.
    pub(super) fn write_raw_json(&mut self, name: &str, value: &Bytes) {
        self.write_member_name(name);
        self.into.put_slice(&json::json_on_single_line(value));
    }

    pub(super) fn write_object_member(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut JsonObjectWriter<'_>),
    ) {
        self.write_member_name(name);
        let mut object = JsonObjectWriter::begin_object(self.into);
        write(&mut object);
        object.close_object();
    }

    pub(super) fn write_list_member<T>(
        &mut self,
        name: &str,
        values: &[T],
        write: fn(&T, &mut JsonObjectWriter<'_>),
    ) {
        self.write_member_name(name);
        self.into.put_u8(b'[');
        for (n, value) in values.iter().enumerate() {
            if n > 0 {
                self.into.put_u8(b',');
            }
            let mut object = JsonObjectWriter::begin_object(self.into);
            write(value, &mut object);
            object.close_object();
        }
        self.into.put_u8(b']');
    }

    fn write_member_name(&mut self, name: &str) {
        if !self.is_empty {
            self.into.put_u8(b',');
        }
        self.is_empty = false;
        json::write_json_string(name, self.into);
        self.into.put_u8(b':');
    }
}
