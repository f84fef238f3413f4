"""Calls of Linux that the standard library has no function for."""

import ctypes
import fcntl
import os
import signal
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_TUNSETIFF = 0x400454CA
_TUNSETOFFLOAD = 0x400454D0
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_TUN_F_CSUM, _TUN_F_TSO4, _TUN_F_TSO6, _TUN_F_TSO_ECN = 1, 2, 4, 8


def unshare(flags: int) -> None:
    """Leave namespaces for new ones, which live as long as a process is in them."""
    _check(_LIBC.unshare(flags))


def stay_private() -> None:
    """Keep what is mounted from now on to this mount namespace."""
    _check(_LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))


def mount(source: str, target: str, type_: str) -> None:
    """Mount a file system."""
    _check(_LIBC.mount(source.encode(), target.encode(), type_.encode(), 0, None))


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def open_tap(name: str, *, offload: bool = False) -> int:
    """Create a TAP interface in the present namespace; it lives while the descriptor is open.

    With `offload` the host leaves checksums and the cutting of super-packets to whoever reads.
    """
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    flags = _IFF_TAP | _IFF_NO_PI | (_IFF_VNET_HDR if offload else 0)
    try:
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        if offload:
            features = _TUN_F_CSUM | _TUN_F_TSO4 | _TUN_F_TSO6 | _TUN_F_TSO_ECN
            fcntl.ioctl(fd, _TUNSETOFFLOAD, features)
    except OSError:
        os.close(fd)
        raise
    return fd


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
