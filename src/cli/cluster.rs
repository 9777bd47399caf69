//! The commands for jobs in a cluster: `run`, `status`, `logs`, `diff`, `stop`, `list` and `wait`.
//!
//! Each of them calls the user's kubectl ([`kubectl`]), reads the objects that it prints ([`objects`]), and derives the state of a
//! job from them ([`diagnosis`]), which is a pure function.

mod connection;
mod diagnosis;
pub mod diff;
mod kubectl;
pub mod list;
mod live;
pub mod logs;
mod objects;
mod page;
mod pods;
pub mod run;
pub mod status;
pub mod stop;
pub mod wait;
