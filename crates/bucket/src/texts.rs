//! In the texts of which source types a field occurs, for the fields that a scan may have to extract.
//!
//! A note of the footer, so that versions that do not know it read the bucket as before: one entry per field
//! of the catalogue, separated by `;`. An entry is the positions of the source types in the summary,
//! separated by commas; `-` where no text has the field; and empty where nothing is noted.

use model::ValueCount;

/// The key of the note.
pub(crate) const NOTE: &str = "karst.field_sourcetypes";
/// Source types that are noted for a field. A field of more of them may be in any text. Every open bucket has
/// the note in memory: 10,000 fields of 64 source types took megabytes.
pub(crate) const NOTED: usize = 16;

/// Source types by the positions of the fields in the catalogue; `None` where nothing is noted.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<Option<Box<[u32]>>>);

impl Texts {
    pub(crate) fn decode(note: &str) -> Self {
        Self(note.split(';').map(entry).collect())
    }

    /// The positions of the source types, where they are noted.
    pub(crate) fn of(&self, field: usize) -> Option<&[u32]> {
        self.0.get(field)?.as_deref()
    }
}

fn entry(text: &str) -> Option<Box<[u32]>> {
    match text {
        "-" => Some(Box::default()),
        // What cannot be read, an empty entry for one, is not noted.
        list => list.split(',').map(|number| number.parse().ok()).collect(),
    }
}

/// The note for fields in order of the catalogue. `names` are the source types that the numbers in `fields`
/// stand for.
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
