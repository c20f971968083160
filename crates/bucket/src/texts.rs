//! The source types in whose texts a field occurs, for the fields that a scan may have to extract.
//!
//! They are a note in the footer, so that versions that do not know it read the bucket as before: one entry
//! per field of the catalogue, separated by `;`. An entry has the positions of the source types in the
//! summary, separated by commas; `-` if no text has the field; and nothing if it is unknown.

use model::ValueCount;

/// The key of the note.
pub(crate) const NOTE: &str = "karst.field_sourcetypes";
/// Maximum number of source types that are noted for a field. A field with more of them may be in any text.
/// Every open bucket has the note in memory: 10,000 fields of 64 source types took megabytes.
pub(crate) const NOTED: usize = 16;

/// Source types by the position of the field in the catalogue; `None` if they are unknown.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<Option<Box<[u32]>>>);

impl Texts {
    pub(crate) fn decode(note: &str) -> Self {
        Self(note.split(';').map(entry).collect())
    }

    /// Returns the positions of the source types, if they are known.
    pub(crate) fn of(&self, field: usize) -> Option<&[u32]> {
        self.0.get(field)?.as_deref()
    }
}

fn entry(text: &str) -> Option<Box<[u32]>> {
    match text {
        "-" => Some(Box::default()),
        // An unreadable entry, such as an empty one, means that they are unknown.
        list => list.split(',').map(|number| number.parse().ok()).collect(),
    }
}

/// Encodes the note for fields in the order of the catalogue. `names` are the source types to which the
/// numbers in `fields` refer.
pub(crate) fn encode<N: AsRef<str>>(
    fields: &[Option<Vec<u32>>],
    names: &[N],
    sourcetypes: &[ValueCount],
) -> String {
    let position = |number: &u32| {
        let name = names.get(*number as usize)?.as_ref();
        sourcetypes.binary_search_by(|known| known.value.as_str().cmp(name)).ok()
    };
    let entry = |field: &Option<Vec<u32>>| match field.as_deref() {
        None => String::new(),
        Some([]) => "-".to_owned(),
        Some(numbers) => {
            let positions: Option<Vec<usize>> = numbers.iter().map(position).collect();
            let texts = positions.unwrap_or_default().into_iter().map(|at| at.to_string());
            texts.collect::<Vec<_>>().join(",")
        }
    };
    fields.iter().map(entry).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use model::EventTime;

    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let time = EventTime(0);
        let count = |value: &str| ValueCount {
            value: value.to_owned(),
            count: 1,
            first_time: time,
            last_time: time,
            recent_time: time,
        };
        let fields = [None, Some(vec![0]), Some(Vec::new()), Some(vec![0, 1])];
        let note = encode(&fields, &["web", "app"], &[count("app"), count("web")]);
        assert_eq!(note, ";1;-;1,0");
        let texts = Texts::decode(&note);
        assert_eq!(texts.of(0), None);
        assert_eq!(texts.of(1), Some([1].as_slice()));
        assert_eq!(texts.of(2), Some([].as_slice()));
        assert_eq!(texts.of(3), Some([1, 0].as_slice()));
        assert_eq!(texts.of(4), None, "a field that is not in the catalogue");
        assert_eq!(Texts::decode("1,x;-1").of(0), None, "what cannot be read is not noted");
        assert_eq!(Texts::decode("1,x;-1").of(1), None);
    }
}
