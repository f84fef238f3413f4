//! Tunnels: bounded in depth, and named in the flow key by what is the same in both directions.
//!
//! That is the kind, the unordered pair of outer addresses, and the virtual network of VXLAN and
//! Geneve. The key of GRE and the TEID of GTP differ per direction.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;

/// Tunnels within tunnels that are peeled.
pub const MAX_DEPTH: usize = 4;

/// How the inner packet is carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the definition")]
pub enum Kind {
    #[default]
    IpInIp,
    Gre,
    Erspan,
    EtherIp,
    MplsInIp,
    MplsInUdp,
    Vxlan,
    Geneve,
    GtpU,
    Teredo,
}

impl Kind {
    /// The name in the `tunnel` column.
    pub fn name(self) -> &'static str {
        match self {
            Kind::IpInIp => "ipip",
            Kind::Gre => "gre",
            Kind::Erspan => "erspan",
            Kind::EtherIp => "etherip",
            Kind::MplsInIp => "mpls-in-ip",
            Kind::MplsInUdp => "mpls-in-udp",
            Kind::Vxlan => "vxlan",
            Kind::Geneve => "geneve",
            Kind::GtpU => "gtp-u",
            Kind::Teredo => "teredo",
        }
    }
}

/// A tunnel, the same for both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tunnel {
    /// How the inner packet is carried.
    pub kind: Kind,
    /// The smaller outer address.
    pub low: [u8; 16],
    /// The larger outer address.
    pub high: [u8; 16],
    /// Virtual network identifier of VXLAN and Geneve.
    pub vni: Option<u32>,
    /// Index of the tunnel around this one; 0 for none.
    pub outer: u16,
}

impl Tunnel {
    /// A placeholder.
    pub(super) const NONE: Tunnel =
        Tunnel { kind: Kind::IpInIp, low: [0; 16], high: [0; 16], vni: None, outer: 0 };
}

impl fmt::Display for Tunnel {
    /// `vxlan 10.0.0.1-10.0.0.2 vni 42`, without the tunnel around it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ip = |addr| Ipv6Addr::from(addr).to_canonical();
        write!(f, "{} {}-{}", self.kind.name(), ip(self.low), ip(self.high))?;
        match self.vni {
            Some(vni) => write!(f, " vni {vni}"),
            None => Ok(()),
        }
    }
}

/// The tunnels that were seen, by index from 1 in the order of first appearance.
#[derive(Default)]
pub struct Tunnels {
    list: Vec<Tunnel>,
    index: HashMap<Tunnel, u16>,
    last: Option<(Tunnel, u16)>,
    overflow: u64,
}

impl Tunnels {
    /// The index that all tunnels share once the table is full.
    pub const OTHERS: u16 = u16::MAX;

    /// How many tunnels have an index.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no tunnel was seen.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The tunnel with this index.
    pub fn tunnel(&self, index: u16) -> Option<&Tunnel> {
        self.list.get(usize::from(index).checked_sub(1)?)
    }

    /// Frames in tunnels that found the table full: counted as
    /// [`TunnelOverflow`](crate::counter::Counter::TunnelOverflow).
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The tunnel in words, outermost first: `gre 192.0.2.1-192.0.2.2 > vxlan 10.0.0.1-10.0.0.2 vni
    /// 42`; `None` for index 0.
    pub fn name(&self, index: u16) -> Option<String> {
        if index == Tunnels::OTHERS {
            return Some("others".to_owned());
        }
        let tunnel = self.tunnel(index)?;
        Some(match self.name(tunnel.outer) {
            Some(outer) => format!("{outer} > {tunnel}"),
            None => tunnel.to_string(),
        })
    }

    /// The index of the innermost of these tunnels, which are listed from the outside in.
    pub(super) fn intern(&mut self, chain: &mut [Tunnel]) -> u16 {
        let mut outer = 0;
        for tunnel in chain {
            tunnel.outer = outer;
            outer = self.index_of(*tunnel);
            if outer == Tunnels::OTHERS {
                self.overflow += 1;
                return outer;
            }
        }
        outer
    }

    fn index_of(&mut self, tunnel: Tunnel) -> u16 {
        if let Some((last, index)) = self.last
            && last == tunnel
        {
            return index;
        }
        let next = u16::try_from(self.list.len() + 1).unwrap_or(Tunnels::OTHERS);
        let index = match self.index.get(&tunnel) {
            Some(&index) => index,
            None if next == Tunnels::OTHERS => return Tunnels::OTHERS,
            None => {
                self.list.push(tunnel);
                self.index.insert(tunnel, next);
                next
            }
        };
        self.last = Some((tunnel, index));
        index
    }
}
