//! The commands for jobs in a cluster: `run`, `status`, `logs`, `diff`, `stop`, `list` and `wait`.
//!
//! Each command calls the user's kubectl ([`kubectl`]) and reads the objects that kubectl prints ([`objects`]). The state of
//! a job is a pure function of these objects ([`diagnosis`]).

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
