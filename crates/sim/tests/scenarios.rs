//! The scenario files of the repository.

use std::collections::BTreeSet;
use std::path::PathBuf;
use tcpwhy_sim::scenario::{CAUSES, Scenario};

/// Every scenario with its name, found by looking.
fn scenarios() -> Vec<(String, Scenario)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut list: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let scenario = Scenario::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
            (name, scenario)
        })
        .collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    list
}

#[test]
fn every_cause_has_a_scenario() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 40, "{} scenarios", scenarios.len());
    let expectations = scenarios.iter().flat_map(|(_, scenario)| &scenario.expect);
    let causes: BTreeSet<_> =
        expectations.filter_map(|expect| expect.get_ref().cause.as_deref()).collect();
    let missing: Vec<_> = CAUSES.iter().filter(|cause| !causes.contains(*cause)).collect();
    // What nobody can tell from outside is no truth of a scenario.
    assert_eq!(missing, [&"sender_window/undetermined"]);
}
