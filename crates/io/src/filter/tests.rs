use super::*;
use crate::read_frames;
use std::path::{Path, PathBuf};
use std::process::Command;
use tcpwhy_core::wire::Frame;

/// Our interpreter passes exactly the frames that tcpdump passes, on real captures of several link
/// types.
#[test]
fn passes_what_tcpdump_passes() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TCPWHY_SHARED").map_or(beside, PathBuf::from);
    if !shared.join("captures").is_dir() {
        println!("skipped: no captures at {} (set TCPWHY_SHARED)", shared.display());
        return;
    }
    if Command::new("tcpdump").arg("--version").output().is_err() {
        println!("skipped: tcpdump is missing");
        return;
    }
    let mut passed = 0;
    for file in FILES {
        let path = shared.join("captures").join(file);
        for expression in EXPRESSIONS {
            let Some(expected) = tcpdump(&path, expression) else { continue };
            let ours = matching(&path, expression);
            assert!(
                ours == expected,
                "{expression} on {file}: {} frames, tcpdump {}",
                ours.len(),
                expected.len()
            );
            passed += ours.len();
        }
    }
    assert!(passed > 10_000, "only {passed} frames passed any filter");
}

/// The bytes of the frames that pass.
fn matching(path: &Path, expression: &str) -> Vec<Vec<u8>> {
    let mut filter: Option<Filter> = None;
    frames(path, |frame| {
        let &Frame { ts, linktype, wire_len, bytes, .. } = frame;
        let new = || Filter::new(expression.to_owned(), [linktype].into_iter()).unwrap();
        let filter = filter.get_or_insert_with(new);
        filter.matches(&Record { ts, linktype, wire_len, bytes }).unwrap()
    })
}

/// The bytes of the frames that tcpdump passes; `None` when it refuses the expression for the link
/// type of this file, which we then do too.
fn tcpdump(path: &Path, expression: &str) -> Option<Vec<Vec<u8>>> {
    let name = format!("tcpwhy-filter-{}.pcap", std::process::id());
    let out = std::env::temp_dir().join(name);
    let output = Command::new("tcpdump")
        .args(["-Z", "root", "-n", "-r"])
        .arg(path)
        .args(["-w", "-", expression])
        .output()
        .unwrap();
    if !output.status.success() {
        let mut linktype = None;
        frames(path, |frame| linktype.replace(frame.linktype).is_some());
        let refused = Filter::new(expression.to_owned(), linktype.into_iter());
        assert!(refused.is_err(), "tcpdump refuses {expression} on {}", path.display());
        return None;
    }
    std::fs::write(&out, output.stdout).unwrap();
    let passed = frames(&out, |_| true);
    std::fs::remove_file(&out).unwrap();
    Some(passed)
}

fn frames(path: &Path, mut passes: impl FnMut(&Frame) -> bool) -> Vec<Vec<u8>> {
    let mut kept = Vec::new();
    let (_, errors) = read_frames(&[path.to_owned()], |frame| {
        if passes(frame) {
            kept.push(frame.bytes.to_vec());
        }
    });
    assert_eq!(errors, vec![]);
    kept
}

const FILES: &[&str] = &[
    "bulk/a0001__pcap_flow_lab_showcase.pcap",
    "bulk/a0036__07-vnc-openwall-3.7.pcap",
    "bulk/a0058__sll.pcap",
    "formats/c0870__80211http.pcap",
    "formats/c1112__test_loopback.pcap",
    "formats/c1173__simple_http_sll2.pcap",
    "formats/c2129__bgp-addpath.pcap",
];

const EXPRESSIONS: &[&str] = &[
    "tcp",
    "not tcp",
    "tcp port 443",
    "tcp and (port 80 or port 22) and not host 1.2.3.4",
    "portrange 80-500",
    "net 192.168.0.0/16",
    "src net 10.0.0.0/8 or dst port 80",
    "ip6",
    "ip6 and tcp",
    "vlan",
    "vlan and tcp",
    "mpls",
    "pppoes",
    "geneve",
    "arp or icmp",
    "ip proto 47",
    "udp[4:2] > 100",
    "greater 1000",
    "less 100",
    "len >= 60 and len <= 500",
    "ether multicast",
    "ip multicast",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[13] & 0x10 != 0 and len > 200",
    "ip[6:2] & 0x3fff != 0",
    "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
    "(ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2) != 0",
    "ip[8] * 2 > 100",
    "ip[2:2] % 7 = 3",
    "ip[2:2] / 10 = 15",
    "tcp[4:4] ^ tcp[8:4] > 1000000",
    "ip[2:2] | 1 = ip[2:2]",
    "tcp[2:2] > tcp[0:2]",
];
