//! JSON texts formatted as the engine writes them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};

use crate::error::Result;
use crate::json::invalid;

/// JSON on one line as Paimon's `JsonSerdeUtil.toFlatJson` writes it.
pub(crate) fn compact(value: &impl Serialize) -> Result<String> {
    written(value, Jackson { pretty: false, depth: 0, empty: true })
}

/// JSON on several lines as Paimon's `JsonSerdeUtil.toJson` writes it; an array stays on one line.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String> {
    written(value, Jackson { pretty: true, depth: 0, empty: true })
}

fn written(value: &impl Serialize, format: Jackson) -> Result<String> {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, format))
        .map_err(|error| invalid(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))
}

/// The spacing and escapes of the Java library Jackson.
struct Jackson {
    pretty: bool,
    /// The number of open objects.
    depth: usize,
    /// Whether the object opened last is still empty.
    empty: bool,
}

impl Jackson {
    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        if self.pretty { write!(out, "\n{:1$}", "", 2 * self.depth) } else { Ok(()) }
    }

    fn space<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.pretty { b" " } else { b"" })
    }
}

impl Formatter for Jackson {
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        (self.depth, self.empty) = (self.depth + 1, true);
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.empty {
            self.space(out)?
        } else {
            self.new_line(out)?
        }
        self.empty = false;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        out.write_all(if first { b"" } else { b"," })?;
        self.new_line(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.pretty { b" : " } else { b":" })
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.space(out)?;
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b"," })?;
        self.space(out)
    }

    /// The only fractions in these files are durations: seconds with nine fractional digits.
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value:.9}")
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::AsciiControl(byte) => write!(out, "\\u{byte:04X}"),
            short => CompactFormatter.write_char_escape(out, short),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_spaced_and_escaped_as_jackson_does() {
        let value = json!({"a": [1, "é/\u{1f}\n"], "b": {}, "c": [], "d": {"e": null}});
        let flat = compact(&value).expect("text");
        assert_eq!(flat, "{\"a\":[1,\"é/\\u001F\\n\"],\"b\":{},\"c\":[],\"d\":{\"e\":null}}");
        let lines = "{\n  \"a\" : [ 1, \"é/\\u001F\\n\" ],\n  \"b\" : { },\n  \"c\" : [ ],\n  \"d\" : {\n    \"e\" : null\n  }\n}";
        assert_eq!(pretty(&value).expect("text"), lines);
    }
}
