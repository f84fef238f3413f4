//! Everything of tcpwhy that touches the world: files, capture rings, sockets. It decides nothing
//! about TCP.

pub mod stream;
