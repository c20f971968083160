//! Prepares a text for parsing: macros are expanded, and comments are replaced with blanks.
//!
//! Guarantees: positions in the prepared text map back to the user's text (a whole expansion maps to its
//! call); expansion terminates. Leaves to others: macro definitions, through [`MacroResolver`].

use crate::diagnostic::{Diagnostic, shorten};
use crate::span::Span;
use std::borrow::Cow;
use std::ops::Range;

/// Maximum depth of nested macros.
const MAX_EXPANSION_DEPTH: usize = 32;

/// Maximum number of macro calls in one search, including those inside of definitions.
const MAX_EXPANSIONS: usize = 10_000;

/// A source of macro definitions.
pub trait MacroResolver {
    /// Returns the text that replaces `` `name(arguments)` ``.
    ///
    /// # Errors
    /// A message such as "macro 'x' with 2 arguments is not defined".
    fn expand(&self, name: &str, arguments: &[String]) -> Result<String, String>;

    /// Returns whether a macro with this name and number of arguments is defined. Between double quotes,
    /// other text in backticks is literal, and so is a call whose expansion has a double quote.
    fn defines(&self, name: &str, arguments: usize) -> bool;
}

/// A text ready for parsing.
#[derive(Debug)]
pub(crate) struct Prepared<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) map: SourceMap,
}

/// The parts of the prepared text in order, with their origin in the user's text.
#[derive(Debug, Default)]
pub(crate) struct SourceMap {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    at: usize,
    origin: Span,
    expanded: bool,
}

impl SourceMap {
    /// Creates the map of a text that belongs to a single position of the user's text.
    pub(crate) fn at(origin: Span) -> Self {
        Self { pieces: vec![Piece { at: 0, origin, expanded: true }] }
    }

    /// Returns the range in the user's text for a range of the prepared text.
    pub(crate) fn original(&self, span: Span) -> Span {
        if self.pieces.is_empty() {
            return span;
        }
        if span.end == span.start {
            let at = span.start.checked_sub(1).map_or(0, |before| self.place(before).1);
            return Span::new(at, at);
        }
        let start = self.place(span.start).0;
        let end = self.place(span.end - 1).1;
        Span::new(start, end.max(start))
    }

    fn place(&self, at: usize) -> (usize, usize) {
        let index = self.pieces.partition_point(|piece| piece.at <= at);
        let Some(piece) = index.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return (at, at + 1);
        };
        if piece.expanded {
            return (piece.origin.start, piece.origin.end);
        }
        let start = piece.origin.start + (at - piece.at);
        (start, start + 1)
    }
}

/// A call of an unknown macro; its expansion is empty.
#[derive(Debug)]
pub(crate) struct Hole {
    /// Its position in the prepared text.
    pub(crate) at: usize,
    /// Its position in the user's text.
    pub(crate) origin: Span,
    /// Its name, with the number of arguments if there are any.
    pub(crate) name: String,
}

/// A replacement of a part of a prepared text.
#[derive(Debug, Clone)]
pub(crate) struct Edit<'e> {
    pub(crate) at: Range<usize>,
    /// The position in the user's text for messages about it.
    pub(crate) origin: Span,
    pub(crate) text: &'e str,
}

impl Prepared<'_> {
    /// Returns the text with replacements, which are in order and do not overlap.
    pub(crate) fn edited(&self, edits: &[Edit<'_>]) -> Prepared<'static> {
        let identity = [Piece { at: 0, origin: Span::new(0, self.text.len()), expanded: false }];
        let old = if self.map.pieces.is_empty() { &identity[..] } else { &self.map.pieces };
        let mut text = String::with_capacity(self.text.len() + edits.len() * 8);
        let mut pieces = Vec::with_capacity(old.len() + edits.len() * 2);
        let mut from = 0;
        let end = self.text.len();
        let last = Edit { at: end..end, origin: Span::default(), text: "" };
        for edit in edits.iter().cloned().chain([last]) {
            let kept = from..edit.at.start;
            let first = old.partition_point(|piece| piece.at <= kept.start).saturating_sub(1);
            for piece in old[first..].iter().take_while(|piece| piece.at < kept.end) {
                let start = piece.at.max(kept.start);
                let skipped = if piece.expanded { 0 } else { start - piece.at };
                let origin = Span::new(piece.origin.start + skipped, piece.origin.end);
                pieces.push(Piece { at: text.len() + start - kept.start, origin, ..*piece });
            }
            text.push_str(&self.text[kept]);
            if !edit.text.is_empty() {
                pieces.push(Piece { at: text.len(), origin: edit.origin, expanded: true });
                text.push_str(edit.text);
            }
            from = edit.at.end;
        }
        Prepared { text: Cow::Owned(text), map: SourceMap { pieces } }
    }

    /// Returns the text with a part replaced.
    pub(crate) fn splice(&self, at: &Range<usize>, text: &str) -> Prepared<'static> {
        let behind = at.start + text.len();
        let mut pieces = Vec::with_capacity(self.map.pieces.len() + 3);
        let identity = [Piece { at: 0, origin: Span::new(0, self.text.len()), expanded: false }];
        let old = if self.map.pieces.is_empty() { &identity[..] } else { &self.map.pieces };
        pieces.extend(old.iter().filter(|piece| piece.at < at.start).copied());
        let origin = self.map.original(Span::new(at.start, at.end));
        pieces.push(Piece { at: at.start, origin, expanded: true });
        if let Some(cut) = old.iter().rfind(|piece| piece.at <= at.end).copied() {
            let skipped = if cut.expanded { 0 } else { at.end - cut.at };
            let origin = Span::new(cut.origin.start + skipped, cut.origin.end);
            pieces.push(Piece { at: behind, origin, ..cut });
        }
        let moved = |piece: &Piece| Piece { at: piece.at - at.end + behind, ..*piece };
        pieces.extend(old.iter().filter(|piece| piece.at > at.end).map(moved));
        let text = [&self.text[..at.start], text, &self.text[at.end..]].concat();
        Prepared { text: Cow::Owned(text), map: SourceMap { pieces } }
    }

    /// Returns the text with all positions mapped to a single one of the user's text.
    pub(crate) fn placed(self, origin: Span) -> Self {
        Self { map: SourceMap::at(origin), ..self }
    }

    /// Returns an owned copy.
    pub(crate) fn into_owned(self) -> Prepared<'static> {
        Prepared { text: Cow::Owned(self.text.into_owned()), map: self.map }
    }
}

/// Expands macros, and replaces comments with blanks.
pub(crate) fn prepare<'t>(
    text: &'t str,
    macros: Option<&dyn MacroResolver>,
    max_length: usize,
) -> Result<Prepared<'t>, Diagnostic> {
    if !text.contains('`') {
        return Ok(Prepared { text: Cow::Borrowed(text), map: SourceMap::default() });
    }
    let mut expansion = Expansion::new(macros, max_length);
    expansion.run(text, None, 0, false)?;
    let Expansion { out, pieces, .. } = expansion;
    Ok(Prepared { text: Cow::Owned(out), map: SourceMap { pieces } })
}

/// Like [`prepare`], but leaves holes for unknown macros.
pub(crate) fn prepare_with_holes(
    text: &str,
    macros: Option<&dyn MacroResolver>,
    max_length: usize,
) -> Result<(Prepared<'static>, Vec<Hole>), Diagnostic> {
    let mut expansion = Expansion::new(macros, max_length);
    expansion.holes = Some(Vec::new());
    expansion.run(text, None, 0, false)?;
    let Expansion { out, pieces, holes, .. } = expansion;
    let prepared = Prepared { text: Cow::Owned(out), map: SourceMap { pieces } };
    Ok((prepared, holes.unwrap_or_default()))
}

struct Expansion<'m> {
    out: String,
    pieces: Vec<Piece>,
    calls: usize,
    max_length: usize,
    macros: Option<&'m dyn MacroResolver>,
    /// The positions of unknown macros; `None` if they are errors.
    holes: Option<Vec<Hole>>,
}

impl<'m> Expansion<'m> {
    fn new(macros: Option<&'m dyn MacroResolver>, max_length: usize) -> Self {
        Self { out: String::new(), pieces: Vec::new(), calls: 0, max_length, macros, holes: None }
    }

    /// Appends `text`; `origin` is the outermost macro call that it comes from, and `quoted` is whether that
    /// call is between double quotes.
    fn run(
        &mut self,
        text: &str,
        origin: Option<Span>,
        depth: usize,
        mut quoted: bool,
    ) -> Result<(), Diagnostic> {
        let mut at = 0;
        while at < text.len() {
            let place = |start: usize, end: usize| origin.unwrap_or(Span::new(start, end));
            let (next, call_end) = self.next_call(text, at, &mut quoted);
            self.copy(&text[at..next], place(at, next), origin.is_some())?;
            if next == text.len() {
                break;
            }
            if !quoted && text[next..].starts_with("```") {
                let Some(length) = text[next + 3..].find("```") else {
                    let span = place(next, text.len());
                    return Err(Diagnostic::new("comment is not closed: expected ```", span));
                };
                let end = next + 3 + length + 3;
                self.copy(&" ".repeat(end - next), place(next, end), origin.is_some())?;
                at = end;
                continue;
            }
            at = call_end.ok_or_else(|| {
                let span = place(next, text.len());
                Diagnostic::new("macro call is not closed: expected a backtick", span)
            })?;
            self.call(&text[next + 1..at - 1], place(next, at), depth, quoted)?;
        }
        Ok(())
    }

    /// Returns the position of the next backtick that opens a call or a comment (or the end), and the offset
    /// after the call. `quoted` is whether `from` is between double quotes, and is updated to that of the
    /// backtick.
    fn next_call(&self, text: &str, from: usize, quoted: &mut bool) -> (usize, Option<usize>) {
        let bytes = text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if *quoted || matches!(bytes.get(at + 1), Some(b'"' | b'\\')) => at += 1,
                b'"' => *quoted = !*quoted,
                b'`' if !*quoted => return (at, macro_end(text, at)),
                b'`' => match quoted_call(text, at) {
                    Some(end) if self.is_defined(&text[at + 1..end - 1]) => return (at, Some(end)),
                    // Other text in backticks, such as Markdown: its closing backtick does not open a call.
                    Some(end) => at = end - 1,
                    None => {}
                },
                _ => {}
            }
            at += 1;
        }
        (bytes.len(), None)
    }

    fn is_defined(&self, call: &str) -> bool {
        let (name, arguments) = split_call(call);
        self.macros.is_some_and(|macros| macros.defines(&name, arguments.len()))
    }

    fn call(
        &mut self,
        call: &str,
        span: Span,
        depth: usize,
        quoted: bool,
    ) -> Result<(), Diagnostic> {
        let Some(macros) = self.macros else {
            let message = format!("macro `{}` cannot be expanded", shorten(call.trim()));
            let diagnostic = Diagnostic::new(message, span)
                .with_hint("macros are knowledge objects; write the definition instead");
            return self.unknown(call, span, diagnostic);
        };
        if depth >= MAX_EXPANSION_DEPTH {
            let message =
                format!("macro `{}` expands to itself or nests too deeply", shorten(call.trim()));
            return Err(Diagnostic::new(message, span));
        }
        self.calls += 1;
        if self.calls > MAX_EXPANSIONS {
            let message = format!("search contains more than {MAX_EXPANSIONS} macro calls");
            return Err(Diagnostic::new(message, span));
        }
        let (name, arguments) = split_call(call);
        match macros.expand(&name, &arguments) {
            // Quotes in the expansion would end the quoted text around the call, so the call is kept: apps
            // use it as a label.
            Ok(text) if quoted && has_quote(&text) => {
                self.copy(&format!("`{call}`"), span, depth > 0)
            }
            Ok(text) => self.run(&text, Some(span), depth + 1, quoted),
            Err(message) => self.unknown(call, span, Diagnostic::new(message, span)),
        }
    }

    /// Handles a call that cannot be expanded: with a hole if holes are allowed, otherwise with an error.
    fn unknown(&mut self, call: &str, span: Span, error: Diagnostic) -> Result<(), Diagnostic> {
        let Some(holes) = &mut self.holes else { return Err(error) };
        if holes.len() >= MAX_EXPANSIONS {
            return Err(error);
        }
        let (name, arguments) = split_call(call);
        let name = match arguments.len() {
            0 => name,
            count => format!("{name}({count})"),
        };
        holes.push(Hole { at: self.out.len(), origin: span, name });
        Ok(())
    }

    fn copy(&mut self, text: &str, origin: Span, expanded: bool) -> Result<(), Diagnostic> {
        if text.is_empty() {
            return Ok(());
        }
        if self.out.len() + text.len() > self.max_length {
            let message = format!("search is longer than {} bytes after macros", self.max_length);
            return Err(Diagnostic::new(message, origin));
        }
        self.pieces.push(Piece { at: self.out.len(), origin, expanded });
        self.out.push_str(text);
        Ok(())
    }
}

/// Returns the position of the next backtick outside of double quotes, or the end.
fn next_backtick(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    let mut quoted = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted || matches!(bytes.get(at + 1), Some(b'"' | b'\\')) => at += 1,
            b'"' => quoted = !quoted,
            b'`' if !quoted => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the offset after the closing backtick of the call that opens at `start`.
fn macro_end(text: &str, start: usize) -> Option<usize> {
    let end = next_backtick(text, start + 1);
    (end < text.len()).then_some(end + 1)
}

/// Returns the offset after a call that opens at `start` between double quotes, if the text there looks like
/// a call: `name` or `name(arguments)` in backticks before the closing quote.
fn quoted_call(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'`' => break,
            b'"' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    let (name, arguments) =
        text[start + 1..at].split_once('(').unwrap_or((&text[start + 1..at], ")"));
    let is_name = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
    let is_call = !name.is_empty() && name.chars().all(is_name) && arguments.ends_with(')');
    is_call.then_some(at + 1)
}

/// Returns whether a text has a double quote that is not escaped.
fn has_quote(text: &str) -> bool {
    let mut escaped = false;
    text.bytes().any(|byte| {
        let found = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}

/// Splits `name(a, "b, c")` into the name and its trimmed arguments.
fn split_call(call: &str) -> (String, Vec<String>) {
    let call = call.trim();
    let Some((name, rest)) = call.split_once('(') else {
        return (call.to_owned(), Vec::new());
    };
    let inside = rest.strip_suffix(')').unwrap_or(rest);
    let mut arguments = vec![String::new()];
    let mut quoted = false;
    let mut escaped = false;
    let mut depth = 0_usize;
    for c in inside.chars() {
        match c {
            _ if escaped => {}
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && !quoted && depth == 0 {
            arguments.push(String::new());
        } else if let Some(argument) = arguments.last_mut() {
            argument.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    if inside.trim().is_empty() {
        return (name.trim().to_owned(), Vec::new());
    }
    let arguments = arguments.iter().map(|argument| argument.trim().to_owned()).collect();
    (name.trim().to_owned(), arguments)
}
