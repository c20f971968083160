//! `commands(search)`: the names of the commands in the text of a search.
//!
//! Guarantees: pipes in quotes and in subsearches do not separate commands; a text without a leading pipe
//! begins with `search`. The commands need not exist.

use super::{Function, multi, plain};

pub(super) const FUNCTIONS: &[Function] = &[plain("commands", |_| {
    Ok(multi(|row, out| {
        each_command(&row.text(0)?, &mut |name| out.append_value(name));
        Some(())
    }))
})];

fn each_command(search: &str, found: &mut dyn FnMut(&str)) {
    let mut pieces = pieces(search).into_iter();
    if pieces.next().is_some_and(|first| !first.trim().is_empty()) {
        found("search");
    }
    for piece in pieces {
        let word = piece.split(|c: char| c.is_whitespace() || "[(\"".contains(c));
        if let Some(name) = word.map(str::trim).find(|word| !word.is_empty()) {
            found(name);
        }
    }
}

/// Splits a search at the pipes outside of quotes and brackets.
fn pieces(search: &str) -> Vec<&str> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    let (mut quoted, mut escaped, mut depth) = (false, false, 0_usize);
    for (at, character) in search.char_indices() {
        match character {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            '|' if !quoted && depth == 0 => {
                pieces.push(&search[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&search[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::each_command;

    #[test]
    fn commands_stand_behind_pipes() {
        let commands = |search: &str| {
            let mut found = Vec::new();
            each_command(search, &mut |name| found.push(name.to_owned()));
            found.join(" ")
        };
        assert_eq!(commands("search foo | stats count | sort count"), "search stats sort");
        assert_eq!(commands("| makeresults|eval a=\"x|y\""), "makeresults eval");
        assert_eq!(commands("a [search b | head 1] | top x"), "search top");
        assert_eq!(commands(""), "");
    }
}
