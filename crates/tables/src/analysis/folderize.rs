//! Groups hierarchical values, such as paths, by their prefixes.

use std::collections::HashMap;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// A row for each folder.
#[derive(Debug)]
pub struct Folderize {
    /// The field with the paths, which is also the output field of the folders.
    pub field: String,
    /// The field with the size of a row, which is also the output field of the folder size. Without it, each
    /// row has size 1.
    pub size: String,
    /// The separator between the parts of a path.
    pub separator: String,
    /// Minimum number of folders, if there are deeper ones.
    pub least: usize,
    /// Maximum number of folders, unless the level above has too few.
    pub most: usize,
}

/// A folder: the common prefix of its members, or the whole value of its only member.
#[derive(Debug, PartialEq)]
struct Folder {
    name: String,
    members: Vec<usize>,
}

impl Operation for Folderize {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let values = rows.texts(&self.field)?;
        let values: Vec<String> = values.into_iter().flatten().collect();
        let sizes = match rows.column(&self.size) {
            Some(_) => rows.numbers(&self.size)?,
            None => vec![Some(1.0); rows.count],
        };
        let folders = folders(&values, &self.separator, (self.least, self.most));
        let mut result = Rows::blank(folders.len());
        result.set_texts(&self.field, folders.iter().map(|folder| Some(&folder.name)));
        let size = |folder: &Folder| {
            let members = folder.members.iter().filter_map(|member| sizes.get(*member));
            Some(members.flatten().sum())
        };
        result.set_numbers(&self.size, folders.iter().map(size));
        let members = |folder: &Folder| i64::try_from(folder.members.len()).ok();
        result.set_integers("memberCount", folders.iter().map(members));
        Ok(result)
    }
}

/// Returns the folders of the greatest depth at which there are not too many; if these are too few, those one
/// level deeper.
fn folders(values: &[String], separator: &str, (least, most): (usize, usize)) -> Vec<Folder> {
    let deepest = values.iter().map(|value| value.matches(separator).count() + 1).max();
    let mut chosen = at_depth(values, separator, 1);
    for depth in 2..=deepest.unwrap_or(1) {
        let deeper = at_depth(values, separator, depth);
        if deeper.len() > most && chosen.len() >= least {
            break;
        }
        let is_enough = deeper.len() > most;
        chosen = deeper;
        if is_enough {
            break;
        }
    }
    chosen
}

fn at_depth(values: &[String], separator: &str, depth: usize) -> Vec<Folder> {
    let mut folders: Vec<Folder> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for (member, value) in values.iter().enumerate() {
        let cut = value.match_indices(separator).nth(depth - 1).map_or(value.len(), |(at, _)| at);
        let begin = &value[..cut];
        let at = *place.entry(begin).or_insert_with(|| {
            folders.push(Folder { name: value.clone(), members: Vec::new() });
            folders.len() - 1
        });
        let folder = &mut folders[at];
        folder.members.push(member);
        if folder.name != *value {
            folder.name = format!("{begin}{separator}*");
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::folders;

    fn check(values: &[&str], most: usize, expected: &[(&str, usize)]) {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let found = folders(&values, "/", (2, most));
        let found: Vec<(&str, usize)> =
            found.iter().map(|folder| (folder.name.as_str(), folder.members.len())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_deepest_folders_that_are_not_too_many_are_chosen() {
        let values = ["/var/log/a", "/var/log/b", "/var/run/c", "/etc/d/e"];
        check(
            &values,
            4,
            &[("/var/log/a", 1), ("/var/log/b", 1), ("/var/run/c", 1), ("/etc/d/e", 1)],
        );
        check(&values, 3, &[("/var/log/*", 2), ("/var/run/c", 1), ("/etc/d/e", 1)]);
        check(&values, 2, &[("/var/*", 3), ("/etc/d/e", 1)]);
        check(&values, 1, &[("/var/*", 3), ("/etc/d/e", 1)]);
    }
}
