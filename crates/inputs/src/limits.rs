//! Limits of one event, and of the events of one request. Every input that cuts events checks them before it
//! keeps any part of them.

/// Limits of events. `server.conf [ingest]` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// `maxEventSize`: bytes of an event's text and of its indexed fields.
    pub event_bytes: usize,
    /// `maxEventFields`: indexed fields of an event, one for each value.
    pub fields: usize,
    /// `maxFieldNameSize`: bytes of the name of an indexed field.
    pub field_name_bytes: usize,
    /// `maxEventDepth`: how deep objects and lists lie in each other in an event that is JSON.
    pub depth: usize,
    /// Memory that the decoded events of one request may take.
    pub memory: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            event_bytes: 10 << 20,
            fields: 1_000,
            field_name_bytes: 1_024,
            depth: 200,
            memory: usize::MAX,
        }
    }
}

/// The limit that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverLimit {
    /// Text and indexed fields.
    #[error("the event has more than {0} bytes (maxEventSize)")]
    Event(usize),
    /// Indexed fields.
    #[error("the event has more than {0} indexed fields (maxEventFields)")]
    Fields(usize),
    /// The name of an indexed field.
    #[error("the name of an indexed field has more than {0} bytes (maxFieldNameSize)")]
    FieldName(usize),
    /// Objects and lists in each other.
    #[error("the event is nested more than {0} deep (maxEventDepth)")]
    Depth(usize),
    /// The decoded request is larger than the memory set aside for it.
    #[error("the events of the request take more than {0} bytes")]
    Memory(usize),
}

impl EventLimits {
    /// Whether JSON is nested too deep; text that is no JSON never is.
    ///
    /// # Errors
    /// It is.
    pub fn check_depth(&self, json: &[u8]) -> Result<(), OverLimit> {
        // A value this short cannot be: most are.
        if json.len() <= self.depth {
            return Ok(());
        }
        let opened = memchr::memchr2_iter(b'{', b'[', json).take(self.depth + 1).count();
        if opened <= self.depth || depth_of(json) <= self.depth {
            return Ok(());
        }
        Err(OverLimit::Depth(self.depth))
    }
}

/// Returns the nesting depth of objects and lists.
fn depth_of(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut at) = (0usize, 0, 0);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = end_of_string(json, at).unwrap_or(json.len()),
            _ => {}
        }
    }
    deepest
}

/// The place behind the quote that ends a string whose text begins at `at`.
fn end_of_string(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let found = at + memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_no_depth() {
        let limits = EventLimits { depth: 2, ..EventLimits::default() };
        for text in ["{\"a\":[1]}", "[[],[],[],{}]", r#"{"a":"[[[[ \" {{{","b":"\\"}"#, "[[", ""] {
            assert_eq!(limits.check_depth(text.as_bytes()), Ok(()), "{text}");
        }
        for text in ["[[[]]]", r#"{"a":"\"","b":[{}]}"#, "[[[[[["] {
            assert_eq!(limits.check_depth(text.as_bytes()), Err(OverLimit::Depth(2)), "{text}");
        }
    }
}
