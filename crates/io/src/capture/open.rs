//! Opens the sockets of a capture, so that no packet is seen twice or by the wrong worker.

use std::io::{self, ErrorKind};

use tcpwhy_core::wire::bpf::Instruction;
use tcpwhy_core::wire::linktype::ETHERNET;

use super::{Capture, Fanout, Member, RETIRE_MS, Tap, fanout};
use crate::error::Error;
use crate::filter::Filter;
use crate::sys::packet::{Interface, PacketSocket, Ring, drop_capabilities};

/// Opens a member for every worker; packets come from now on. Also gives the filter, where it has
/// to be applied to the frames that come.
pub(crate) fn open(
    capture: &Capture,
    workers: usize,
) -> Result<(Vec<Member>, Option<Filter>), Error> {
    let mut members: Vec<Member> = Vec::new();
    members.resize_with(workers, || Member { taps: Vec::new(), space: Vec::new() });
    let mut own_filter = None;
    let mut gates = Vec::new();
    for name in &capture.interfaces {
        let mut group = None;
        for member in &mut members {
            let (mut tap, known) = tap(capture, name, group)?;
            let matters = capture.fanout == Fanout::Hash && workers > 1;
            tap.hidden = matters.then_some(0);
            group = Some(known);
            member.taps.push(tap);
        }
        let linktype = members[0].taps.last().map_or(ETHERNET, |tap| tap.linktype);
        let (program, own) = kernel_program(capture, linktype)?;
        own_filter = own_filter.or(own);
        gates.push(program);
    }
    // Only now, with every worker in its group, do packets flow.
    let mut unfit = false;
    for member in &members {
        for (tap, gate) in member.taps.iter().zip(&gates) {
            if tap.ring.socket().filter(gate).is_err() {
                // Longer than the kernel takes.
                unfit = true;
                let all = [keep(capture.snaplen)];
                let opened = tap.ring.socket().filter(&all);
                opened.map_err(|error| failed(&tap.interface, "attach a filter", &error))?;
            }
        }
    }
    if unfit && own_filter.is_none() {
        let linktypes = members[0].taps.iter().map(|tap| tap.linktype);
        let filter = capture.filter.clone().map(|text| Filter::new(text, linktypes));
        own_filter = filter.transpose()?;
    }
    if capture.drop_privileges {
        let dropped = drop_capabilities();
        dropped.map_err(|e| Error::Privilege(format!("cannot drop capabilities: {e}")))?;
    }
    Ok((members, own_filter))
}

/// A worker's ring on an interface, in the fan-out group given or in a new one, whose number is
/// given back. It lets nothing in yet.
fn tap(capture: &Capture, name: &str, group: Option<u16>) -> Result<(Tap, u16), Error> {
    let failed = |what: &'static str| move |error: io::Error| failed(name, what, &error);
    let socket = PacketSocket::open().map_err(|error| no_socket(name, &error))?;
    let interface = socket.interface(name).map_err(|error| no_interface(name, &error))?;
    let linktype = linktype(interface).ok_or_else(|| {
        let hardware = interface.hardware;
        Error::Usage(format!("{name}: link-layer type {hardware} (ARPHRD) cannot be captured yet"))
    })?;
    socket.filter(&NOTHING).map_err(failed("attach a filter"))?;
    // Without it every socket takes a time of its own, later than this one.
    socket.stamp_early().map_err(failed("ask for times"))?;
    if capture.hardware_times {
        socket.stamp_in_hardware(name).map_err(|error| no_card_clock(name, &error))?;
    }
    if interface.hardware == libc::ARPHRD_LOOPBACK {
        // There a packet passes twice: on its way out and on its way in.
        socket.set(libc::PACKET_IGNORE_OUTGOING, 1).map_err(failed("ignore outgoing packets"))?;
    }
    let ring = ring(socket, capture.ring_bytes)
        .map_err(|error| no_ring(name, capture.ring_bytes, &error))?;
    let socket = ring.socket();
    socket.bind(interface).map_err(failed("bind"))?;
    let group = join(socket, capture.fanout, group).map_err(failed("join the fan-out group"))?;
    if capture.promiscuous {
        socket.promiscuous(interface).map_err(failed("become promiscuous"))?;
    }
    let interface = name.to_owned();
    let (open, gone, stamped, by_card, hidden) = (None, false, [0; 2], false, None);
    Ok((Tap { ring, interface, linktype, open, gone, stamped, by_card, hidden }, group))
}

/// Joins a fan-out group. A single worker joins one too, for it is there that fragments are put
/// together.
fn join(socket: &PacketSocket, fanout: Fanout, group: Option<u16>) -> io::Result<u16> {
    let (id, unique) = match group {
        Some(id) => (id, 0),
        None => (0, libc::PACKET_FANOUT_FLAG_UNIQUEID),
    };
    let kind = fanout.kind() | libc::PACKET_FANOUT_FLAG_DEFRAG | unique;
    socket.set(libc::PACKET_FANOUT, (u32::from(id) | kind << 16) as i32)?;
    if group.is_none() && matches!(fanout, Fanout::Hosts | Fanout::Cbpf) {
        socket.fanout_program(&fanout::program(fanout))?;
    }
    group.map_or_else(|| socket.fanout_group(), Ok)
}

/// A ring of about so many bytes, or as many as there are.
fn ring(socket: PacketSocket, bytes: usize) -> io::Result<Ring> {
    let blocks = (bytes / BLOCK_LEN).max(LEAST_BLOCKS);
    Ring::new(socket, BLOCK_LEN, blocks, RETIRE_MS)
}

/// The program for the kernel, which filters and cuts frames, and the filter if it is not in it: a
/// tag that the card took off is not where a filter on tags looks for it.
fn kernel_program(
    capture: &Capture,
    linktype: u16,
) -> Result<(Vec<Instruction>, Option<Filter>), Error> {
    let everything = vec![keep(capture.snaplen)];
    let Some(expression) = &capture.filter else { return Ok((everything, None)) };
    let filter = Filter::new(expression.clone(), std::iter::once(linktype))?;
    let speaks_of_tags =
        expression.split(|c: char| !c.is_alphanumeric()).any(|word| word == "vlan");
    if speaks_of_tags {
        return Ok((everything, Some(filter)));
    }
    let mut program = filter.instructions(linktype).to_vec();
    for instruction in &mut program {
        if instruction.code == RET_K && instruction.k > 0 {
            *instruction = keep(capture.snaplen);
        }
    }
    Ok((program, None))
}

/// The LINKTYPE of what a raw packet socket gives.
fn linktype(interface: Interface) -> Option<u16> {
    /// ARPHRD_RAWIP, which libc lacks.
    const RAW_IP: u16 = 519;
    match interface.hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(ETHERNET),
        libc::ARPHRD_NONE | RAW_IP | libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 => Some(101),
        libc::ARPHRD_SIT | libc::ARPHRD_PPP => Some(101),
        libc::ARPHRD_IEEE80211 => Some(105),
        libc::ARPHRD_IEEE80211_RADIOTAP => Some(127),
        _ => None,
    }
}

fn no_socket(name: &str, error: &io::Error) -> Error {
    if error.kind() != ErrorKind::PermissionDenied {
        return failed(name, "open a packet socket", error);
    }
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    let program = program.map_or("/path/to/python3".to_owned(), |path| path.display().to_string());
    Error::Privilege(format!(
        "{name}: live capture needs CAP_NET_RAW: run as root, or `setcap cap_net_raw=ep \
         {program}`, or with `AmbientCapabilities=CAP_NET_RAW` in a systemd unit"
    ))
}

fn no_interface(name: &str, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENODEV) => Error::Usage(format!("no interface '{name}': `ip link` lists them")),
        _ => failed(name, "look the interface up", error),
    }
}

fn no_ring(name: &str, bytes: usize, error: &io::Error) -> Error {
    let what = format!("make a ring of {} MiB for each worker", bytes >> 20);
    match error.raw_os_error() {
        Some(libc::ENOMEM) => Error::Interface {
            name: name.to_owned(),
            message: format!("cannot {what}, there is no memory for it: fewer --workers take less"),
        },
        _ => failed(name, &what, error),
    }
}

fn no_card_clock(name: &str, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => Error::Privilege(format!(
            "{name}: hardware timestamps need CAP_NET_ADMIN beside CAP_NET_RAW: run as root, or \
             leave the times to the kernel"
        )),
        Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE | libc::ENOTTY) => {
            Error::Usage(format!(
                "{name}: it offers no hardware timestamps for all packets (`tcpwhy doctor {name}` \
                 and `ethtool -T {name}` say what there is): leave the times to the kernel"
            ))
        }
        _ => failed(name, "have the card take times", error),
    }
}

fn failed(name: &str, what: &str, error: &io::Error) -> Error {
    Error::Interface { name: name.to_owned(), message: format!("cannot {what}: {error}") }
}

const fn keep(snaplen: u32) -> Instruction {
    Instruction { code: RET_K, jt: 0, jf: 0, k: snaplen }
}

/// The program that lets no packet in.
pub(super) const NOTHING: [Instruction; 1] = [keep(0)];
/// Returns a constant (bpf(4)).
const RET_K: u16 = 0x06;
/// Bytes of a block: room for some thousands of headers, so that handing it over costs little.
const BLOCK_LEN: usize = 1 << 20;
/// The kernel fills one block while another is read.
const LEAST_BLOCKS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_without_memory_says_what_takes_less() {
        let error = no_ring("eth0", 64 << 20, &io::Error::from_raw_os_error(libc::ENOMEM));
        let told = "eth0: cannot make a ring of 64 MiB for each worker, there is no memory for \
                    it: fewer --workers take less";
        assert_eq!((error.to_string().as_str(), error.exit_code()), (told, 3));
    }
}
