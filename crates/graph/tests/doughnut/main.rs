//! Related notes around a focus note: scenarios of the design text, its pitfalls, properties, and a model.

mod ask;
mod hub;
mod model;
mod paging;
mod pitfalls;
mod properties;
mod rendering;
mod scenarios;
