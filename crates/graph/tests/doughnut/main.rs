//! Doughnut: scenarios and pitfalls of the design text, properties, and comparison with a model.

mod auto;
mod fixed_surroundings;
mod hub_cost;
mod model_comparison;
mod paging;
mod pitfalls;
mod properties;
mod rendering;
mod request_builder;
mod scenarios;
