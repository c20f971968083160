//! Answers of many rows in pieces, which are made when the client is ready for them: so much of an answer
//! is in memory, other requests go on in between, and a client that leaves ends the rest.

use std::collections::HashSet;
use std::vec::IntoIter;

use axum::BoxError;
use axum::body::{Body, Bytes};
use search::{Page, ResultRows};

use super::RowFormat;
use crate::work::work_on_part;

/// An answer of one page.
pub(crate) fn whole(mut format: Box<dyn RowFormat>, page: &Page) -> Vec<u8> {
    let mut answer = Vec::new();
    format.head(&mut answer);
    format.rows(page, &mut answer);
    format.end().iter().for_each(|piece| answer.extend_from_slice(piece));
    answer
}

/// An answer of many pages: its head, the rows of each page, its end. A piece may be empty.
pub(crate) struct Pieces<P> {
    format: Box<dyn RowFormat>,
    pages: P,
    next: Next,
}

enum Next {
    Head,
    Rows,
    End(IntoIter<Vec<u8>>),
}

impl<P: Iterator<Item = Page>> Pieces<P> {
    pub(crate) fn new(format: Box<dyn RowFormat>, pages: P) -> Self {
        Self { format, pages, next: Next::Head }
    }
}

impl<P: Iterator<Item = Page>> Iterator for Pieces<P> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut piece = Vec::new();
        match &mut self.next {
            Next::Head => {
                self.format.head(&mut piece);
                self.next = Next::Rows;
            }
            Next::Rows => match self.pages.next() {
                Some(page) => self.format.rows(&page, &mut piece),
                None => self.next = Next::End(self.format.end().into_iter()),
            },
            Next::End(pieces) => return pieces.next(),
        }
        Some(piece)
    }
}

/// The names of the fields of many rows, in order. All readers of the same rows share them.
pub(crate) async fn fields_of(rows: &ResultRows) -> Vec<String> {
    rows.fields_found_by(found_in(rows)).await.to_vec()
}

async fn found_in(rows: &ResultRows) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    for slice in rows.slices() {
        // Nobody reads the answer of a server that stops.
        let found = work_on_part(move || slice.fields()).await.unwrap_or_default();
        for name in found {
            if known.insert(name.clone()) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns a body of pieces, each created when the previous one has been sent. `kept` is kept until the last
/// one.
pub(crate) fn streamed<E: Into<BoxError> + Send + 'static>(
    pieces: impl Iterator<Item = Result<Vec<u8>, E>> + Send + 'static,
    kept: impl Send + 'static,
) -> Body {
    let stream = futures::stream::unfold((Some(pieces), kept), |(pieces, kept)| async move {
        let made = work_on_part(move || {
            let mut pieces = pieces?;
            // An empty one would end the body of some protocols.
            let is_something =
                |piece: &Result<Vec<u8>, E>| piece.as_ref().map_or(true, |piece| !piece.is_empty());
            let piece = pieces.by_ref().find(is_something)?;
            Some((piece, pieces))
        });
        match made.await {
            Ok(made) => {
                let (piece, pieces) = made?;
                Some((piece.map(Bytes::from).map_err(Into::<BoxError>::into), (Some(pieces), kept)))
            }
            Err(stopped) => Some((Err(BoxError::from(stopped)), (None, kept))),
        }
    });
    Body::from_stream(stream)
}
