//! Entry to the profiles: packs a request and yields its decisions.

use crate::classic::ClassicPacking;
use crate::{
    Decision, Document, Item, Ledger, OmittedNote, PackError, PackRequest, PackingProfile, Summary,
    evidence,
};

/// Packs a context. Equal requests give equal ledgers.
///
/// # Errors
/// See [`PackError`].
pub fn pack<D: Document>(request: PackRequest<'_, D>) -> Result<Ledger, PackError> {
    let mut packing = Packing::new(request)?;
    let (mut items, mut omitted) = (vec![], vec![]);
    for decision in &mut packing {
        match decision {
            Decision::Taken(item) => items.push(*item),
            Decision::Omitted(candidate) => omitted.push(candidate),
        }
    }
    Ok(Ledger { items, omitted, summary: packing.finish() })
}

/// A context being packed. Yields the decision about each candidate.
///
/// Profile `classic` decides the candidates one by one, focus note first, then best first. The other profiles decide all of them on creation, because a passage of any note may still displace another; they yield the included notes first.
pub struct Packing<'a, D>(State<'a, D>);

enum State<'a, D> {
    Classic(Box<ClassicPacking<'a, D>>),
    Decided {
        items: std::vec::IntoIter<Item>,
        omitted: std::vec::IntoIter<OmittedNote>,
        summary: Box<Summary>,
    },
}

impl<'a, D: Document> Packing<'a, D> {
    /// Ranks the candidates by score, descending, ties by uri.
    ///
    /// # Errors
    /// A score that is not finite, a setting out of range, or a cancelled request while deciding in advance.
    pub fn new(request: PackRequest<'a, D>) -> Result<Self, PackError> {
        Ok(Self(match request.profile {
            PackingProfile::Classic => State::Classic(Box::new(ClassicPacking::new(request)?)),
            PackingProfile::Evidence | PackingProfile::Plain => {
                let Ledger { items, omitted, summary } = evidence::pack(request)?;
                State::Decided {
                    items: items.into_iter(),
                    omitted: omitted.into_iter(),
                    summary: Box::new(summary),
                }
            }
        }))
    }

    /// Decides the remaining candidates and returns the totals.
    #[must_use]
    pub fn finish(self) -> Summary {
        match self.0 {
            State::Classic(packing) => packing.finish(),
            State::Decided { summary, .. } => *summary,
        }
    }
}

impl<D: Document> Iterator for Packing<'_, D> {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        match &mut self.0 {
            State::Classic(packing) => packing.next(),
            State::Decided { items, omitted, .. } => {
                let taken = items.next().map(|item| Decision::Taken(Box::new(item)));
                taken.or_else(|| omitted.next().map(Decision::Omitted))
            }
        }
    }
}
