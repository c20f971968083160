//! Numbers and texts of binary values: variable-length integers, and texts preceded by their length. Reading
//! is checked: missing, excessive and left-over bytes are errors.

use super::{Damage, content};

/// Appends an unsigned number, 7 bits per byte, the lowest first.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        #[allow(clippy::cast_possible_truncation)]
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    #[allow(clippy::cast_possible_truncation)]
    bytes.push(number as u8);
}

/// Appends a signed number; small absolute values take few bytes.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    #[allow(clippy::cast_sign_loss)]
    put_number(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a text after its length.
pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_bytes(bytes, text.as_bytes());
}

/// Appends bytes after their length.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_number(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

/// A reader of values that the functions above have written.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damage> {
        let (first, rest) = self.rest.split_first().ok_or_else(ends_early)?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damage> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(content("a number has more than 64 bits"))
    }

    #[allow(clippy::cast_possible_wrap)]
    pub(crate) fn signed(&mut self) -> Result<i64, Damage> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.count()?;
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes()?).map_err(content)
    }

    /// Reads a number of parts that take at least one byte each.
    pub(crate) fn count(&mut self) -> Result<usize, Damage> {
        let count = self.number()?;
        let fits = usize::try_from(count).ok().filter(|count| *count <= self.rest.len());
        fits.ok_or_else(ends_early)
    }

    /// Whether all bytes have been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Fails if there are left-over bytes.
    pub(crate) fn end(self) -> Result<(), Damage> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(content(format!("{left} bytes are left over"))),
        }
    }
}

fn ends_early() -> Damage {
    content("the value ends early")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn too_long_a_number_is_refused() {
        assert!(Fields::of(&[0xff; 12]).number().is_err());
        let mut largest = vec![0xff; 9];
        largest.push(1);
        assert_eq!(Fields::of(&largest).number().unwrap(), u64::MAX);
        *largest.last_mut().unwrap() = 2;
        assert!(Fields::of(&largest).number().is_err());
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(number: u64, signed: i64, text: String) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            put_signed(&mut bytes, signed);
            put_text(&mut bytes, &text);
            let mut fields = Fields::of(&bytes);
            prop_assert_eq!(fields.number().unwrap(), number);
            prop_assert_eq!(fields.signed().unwrap(), signed);
            prop_assert_eq!(fields.text().unwrap(), &text);
            fields.end().unwrap();
            for cut in 0..bytes.len() {
                let mut fields = Fields::of(&bytes[..cut]);
                let all = fields.number().and_then(|_| fields.signed()).and_then(|_| fields.text());
                prop_assert!(all.is_err());
            }
        }
    }
}
