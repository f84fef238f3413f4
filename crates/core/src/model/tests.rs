//! What holds for every model, found through the registry.

use super::*;

/// Parameters with which every model has an answer.
fn usual(model: &Model) -> Vec<f64> {
    let given = |parameter: &Parameter| match (parameter.fallback, parameter.name) {
        (Fallback::Value(value), _) => value,
        (Fallback::Derived(_), _) => f64::NAN,
        (Fallback::Required, "rtt_ns") => 80e6,
        (Fallback::Required, "rtt_min_ns") => 40e6,
        (Fallback::Required, "loss") => 1e-3,
        (Fallback::Required, "capacity_bps" | "bottleneck_bps") => 1e8,
        (Fallback::Required, "window_bytes" | "size_bytes") => 1e6,
        (Fallback::Required, name) => panic!("no usual {name}"),
    };
    model.parameters.iter().map(given).collect()
}

fn rate(model: &Model, values: &[f64], parameter: usize, x: f64) -> f64 {
    let mut values = values.to_vec();
    values[parameter] = x;
    let prediction = model.predict(&values);
    prediction.unwrap_or_else(|outside| panic!("{}: {outside} ({x})", model.name)).rate_bps
}

#[test]
fn names_are_different_and_documented() {
    for (i, model) in MODELS.iter().enumerate() {
        assert!(MODELS[..i].iter().all(|other| other.name != model.name));
        assert!(model.doc.trim().ends_with('.'), "{}", model.name);
        assert!(model.source.contains(|c: char| c.is_ascii_digit()), "{}: a year", model.name);
        for parameter in model.parameters {
            assert!(parameter.doc.trim().ends_with('.'), "{} {}", model.name, parameter.name);
            assert_eq!(parameter.domain == Domain::Choice, !parameter.choices.is_empty());
        }
        assert_eq!(Model::named(model.name).unwrap().name, model.name);
    }
    assert!(Model::named("none").is_none());
}

#[test]
fn every_model_answers_and_grows_as_tcp_does() {
    // More of the first kind never makes it faster, more of the second never slower.
    let slower = ["rtt_ns", "loss", "headers_bytes", "frame_bytes", "rto_ns"];
    let faster = ["window_bytes", "capacity_bps", "bottleneck_bps", "initial_window_segs", "size"];
    for model in MODELS {
        let values = usual(model);
        for (at, parameter) in model.parameters.iter().enumerate() {
            let sign = match parameter.name {
                name if slower.contains(&name) => -1.0,
                name if faster.contains(&name) => 1.0,
                _ => continue,
            };
            let (low, high): (f64, f64) = match parameter.name {
                "loss" => (1e-7, if model.name == "bbr" { 0.19 } else { 0.4 }),
                "rtt_ns" => (40e6, 10e9),
                name if name.ends_with("_segs") => (1.0, 1e3),
                name if name.ends_with("_bps") => (1e3, 1e12),
                _ => (2e3, 1e8),
            };
            let grid = (0..=100).map(|i| low * (high / low).powf(f64::from(i) / 100.0));
            let rates: Vec<f64> = grid.map(|x| rate(model, &values, at, x)).collect();
            for pair in rates.windows(2) {
                let change = sign * (pair[1] - pair[0]);
                // A loss that comes earlier replaces rounds of slow start: whole ones are uneven.
                let uneven = if model.name == "slow_start" { 0.02 } else { 1e-9 };
                let (model, name) = (model.name, parameter.name);
                assert!(change >= -uneven * pair[0], "{model} by {name}: {pair:?}");
            }
        }
    }
}

#[test]
fn outside_the_domain_there_is_a_reason_and_no_number() {
    for model in MODELS {
        let usual = usual(model);
        let missing = model.predict(&model.defaults()).unwrap_err();
        assert_eq!(missing.reason, "is not known", "{}", model.name);
        for (at, parameter) in model.parameters.iter().enumerate() {
            for wrong in [-1.0, f64::NEG_INFINITY] {
                let mut values = usual.clone();
                values[at] = wrong;
                let outside = model.predict(&values).unwrap_err();
                assert_eq!(outside.parameter, parameter.name, "{} {wrong}", model.name);
            }
        }
        assert!(model.predict(&[]).is_err());
    }
}

#[test]
fn answers_are_finite_and_positive_wherever_there_are_any() {
    let extremes = [1e-12, 1e-6, 1e-3, 0.5, 0.999, 1.0, 10.0, 1e3, 1e6, 1e9, 1e12, f64::INFINITY];
    for model in MODELS {
        let usual = usual(model);
        for at in 0..usual.len() {
            for x in extremes {
                let mut values = usual.clone();
                values[at] = x;
                if let Ok(prediction) = model.predict(&values) {
                    let rate = prediction.rate_bps;
                    let name = model.parameters[at].name;
                    assert!(rate.is_finite() && rate > 0.0, "{} {name} {x}: {rate}", model.name);
                }
            }
        }
    }
}

#[test]
fn solving_gives_back_what_was_put_in() {
    for model in MODELS {
        let values = usual(model);
        let rate_bps = model.predict(&values).unwrap().rate_bps;
        for name in ["loss", "rtt_ns", "window_bytes", "capacity_bps", "bottleneck_bps"] {
            let Some(at) = model.position(name) else { continue };
            if !values[at].is_finite() || values[at] == 0.0 || model.name == "slow_start" {
                continue;
            }
            let found = model.solve(at, rate_bps, &values).unwrap();
            assert!((found / values[at] - 1.0).abs() < 1e-6, "{} {name}: {found}", model.name);
        }
    }
}

#[test]
fn solving_says_when_there_is_nothing_to_find() {
    let pftk = Model::named("pftk").unwrap();
    let mut values = usual(pftk);
    let (loss, window) = (pftk.position("loss").unwrap(), pftk.position("window_bytes").unwrap());
    values[window] = 1e5;
    // The window allows 10 Mbit/s, however little is lost.
    let no = pftk.solve(loss, 2e7, &values).unwrap_err();
    assert_eq!((no.parameter, no.reason), ("loss", "has no value that gives the rate"));
    let any = pftk.solve(loss, 1e-3, &values).unwrap_err();
    assert!(any.reason.contains("any value"), "{any}");
    let form = pftk.position("form").unwrap();
    assert!(pftk.solve(form, 1e6, &values).is_err());
}
