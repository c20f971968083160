//! The digests of SPL as functions of SQL: `md5`, `sha1`, `sha256` and `sha512`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use eval::functions::{DIGESTS, TextDigest};
use exprs::ledger::Meter;

/// Returns the functions to register with a session.
pub(super) fn functions() -> impl Iterator<Item = ScalarUDF> {
    DIGESTS.iter().map(|(name, compute)| {
        let signature = Signature::string(1, Volatility::Immutable);
        ScalarUDF::new_from_impl(DigestOf { name, compute: Compute(*compute), signature })
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DigestOf {
    name: &'static str,
    compute: Compute,
    signature: Signature,
}

/// The function, which the name determines: pointers to functions cannot be compared.
#[derive(Debug)]
struct Compute(TextDigest);

impl PartialEq for Compute {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Compute {}

impl std::hash::Hash for Compute {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl ScalarUDFImpl for DigestOf {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [text] = args.args.as_slice() else { return internal_err!("a digest is of one text") };
        match text {
            ColumnarValue::Scalar(text) => {
                let made = digests(&text.to_array()?, self.compute.0)?;
                ScalarValue::try_from_array(&made, 0).map(ColumnarValue::Scalar)
            }
            ColumnarValue::Array(texts) => {
                let made = digests(texts, self.compute.0)?;
                Meter::new(&args.config_options).finish(made).map(ColumnarValue::Array)
            }
        }
    }
}

fn digests(texts: &ArrayRef, compute: TextDigest) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8View)?;
    let mut made = StringViewBuilder::new();
    let mut one = String::new();
    for text in texts.as_string_view() {
        match text {
            Some(text) => {
                one.clear();
                compute(text.as_bytes(), &mut one);
                made.append_value(&one);
            }
            None => made.append_null(),
        }
    }
    Ok(Arc::new(made.finish()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Session, SessionSettings};

    #[tokio::test]
    async fn functions_of_spl_and_of_other_dialects_have_their_names() {
        let context = Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b");
        for (call, expected) in [
            ("md5('')", "d41d8cd98f00b204e9800998ecf8427e"),
            ("md5(x)", "0cc175b9c0f1b6a831c399e269772661"),
            ("md5(nullif(x, 'a'))", ""),
            ("sha1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("sha256('abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            ("length(sha512(x))", "128"),
            ("sign(-2.5)", "-1.0"),
            ("sign(0)", "0.0"),
            ("signum(7)", "1.0"),
        ] {
            let query = format!("SELECT {call} FROM (VALUES ('a')) AS t (x)");
            let frame = context.sql(&query).await.unwrap_or_else(|error| panic!("{call}: {error}"));
            let batches = frame.collect().await.unwrap_or_else(|error| panic!("{call}: {error}"));
            let column = batches[0].column(0);
            let value = arrow::util::display::array_value_to_string(column, 0).unwrap();
            assert_eq!(value, expected, "{call}");
        }
        for call in ["md5()", "md5('a', 'b')"] {
            assert!(context.sql(&format!("SELECT {call}")).await.is_err(), "{call}");
        }
    }
}
