//! The value of `--object-store`: `s3://bucket/prefix` or a directory.
//!
//! Refuses a value that was meant as a URL and would be taken for a directory. Whether the store exists is
//! checked when it is opened.

/// Beginnings of addresses of stores, and of other places that are written like them.
const SCHEMES: [&str; 10] =
    ["s3", "s3a", "s3n", "gs", "gcs", "az", "azure", "abfs", "http", "https"];

/// Parses the value of `--object-store`.
pub(super) fn store_url(text: &str) -> Result<String, String> {
    let Some((scheme, rest)) = text.split_once(':') else { return Ok(text.to_owned()) };
    let is_scheme = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    if !is_scheme || rest.starts_with("//") {
        return Ok(text.to_owned());
    }
    Err(format!(
        "\"{scheme}:\" is not followed by //: write s3://bucket/prefix, or ./{text} for a directory of that name"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_both_slashes_is_not_a_directory() {
        for text in ["s3:/b/x", "s3:b", "S3:/b", "gs:/b", "az:x"] {
            assert!(store_url(text).is_err_and(|error| error.contains("s3://bucket")), "{text}");
        }
        // The scheme of the last one is refused with a specific message when the store is opened.
        for text in ["s3://b/x", "data/objects", "/a:b", "./s3:/b/x", "file:///a", "gs://b"] {
            assert_eq!(store_url(text).as_deref(), Ok(text));
        }
    }
}
