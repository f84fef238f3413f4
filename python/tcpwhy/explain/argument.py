"""What a trace says about a frame, as sentences that cite frames."""

from collections.abc import Iterator

from tcpwhy.explain.trace import Segment, Trace
from tcpwhy.units import as_duration


class Argument:
    """Sentences about the frame of a trace; keeps which frames they cite."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.segment = trace.segment
        self.cited: list[int] = []

    def headline(self) -> str:
        """Name the kind, and the bytes."""
        segment = self.segment
        name = NAMES.get(segment.kind, segment.kind.replace("_", " "))
        if segment.payload > 0:
            last = segment.start + segment.payload - 1
            return f"{name}: {segment.payload:,} bytes, {span(segment.start, last)}"
        if segment.kind == "syn" and segment.ack is not None:
            return "the answer to the opening of the connection"
        return name if segment.ack is None else f"{name}, number {segment.ack:,}"

    def frame(self, row: Segment) -> str:
        """Cite a frame."""
        self.cited.append(row.frame)
        return f"frame {row.frame}"

    def listed(self, rows: list[Segment]) -> str:
        """Cite several frames."""
        shown = rows if len(rows) <= MOST_LISTED else [*rows[: MOST_LISTED - 1], rows[-1]]
        self.cited += [row.frame for row in shown]
        names = [str(row.frame) for row in shown]
        if len(names) == 1:
            return f"frame {names[0]}"
        gap = ", …" if len(shown) < len(rows) else ""
        return f"frames {', '.join(names[:-1])}{gap} and {names[-1]}"

    def since(self, row: Segment) -> str:
        """Give the time from a frame to this one."""
        return as_duration(self.segment.ts_ns - row.ts_ns)

    def earlier(self) -> list[Segment]:
        """Frames that carried some of its bytes before."""
        overlap = '"start" < $end AND "end" > $start'
        return self.trace.mine(f"frame < $frame AND payload > 0 AND {overlap}")

    def progress(self) -> Segment | None:
        """The acknowledgement that was the highest when it came, the first with that number."""
        acks = "frame < $frame AND acked IS NOT NULL"
        newest = f"SELECT max(acked) FROM numbered WHERE {acks} AND direction <> $direction"
        return next(iter(self.trace.theirs(f"{acks} AND acked = ({newest})")), None)

    def silence(self) -> Segment | None:
        """The last data segment of its direction before it."""
        last = "SELECT max(frame) FROM numbered WHERE frame < $frame AND payload > 0"
        where = f"{last} AND direction = $direction AND kind <> 'duplicate_frame'"
        return next(iter(self.trace.mine(f"frame = ({where})")), None)

    def asked_for(self) -> Iterator[str]:
        """Acknowledgements that ask for it: duplicates, and SACK blocks above it."""
        progress = self.progress()
        first = progress.frame if progress else 0
        before = "frame < $frame AND frame > $first"
        duplicates = self.trace.theirs(f"{before} AND kind = 'duplicate_ack'", first=first)
        if duplicates and progress:
            many = f"{len(duplicates)} duplicate ACKs" if len(duplicates) > 1 else "A duplicate ACK"
            number = f"number {duplicates[0].ack:,}, first given by {self.frame(progress)}"
            yield f"{many} came before it ({self.listed(duplicates)}): {number}."
        blocks = self.trace.theirs(f"{before} AND sack IS NOT NULL", first=first)
        above = [
            (row, block) for row in blocks for block in row.blocks if block[1] > self.segment.start
        ]
        if above:
            row, (left, right) = above[-1]
            many = f", as had {above[0][0].frame}" if above[0][0].frame != row.frame else ""
            self.cited.append(above[0][0].frame)
            yield (
                f"SACK in {self.frame(row)} had reported {span(left, right - 1)}, above it, as"
                f" received{many}."
            )

    def timer(self) -> Iterator[str]:
        """How long nothing had happened, against the timer."""
        silence = self.silence()
        if silence:
            last = self.frame(silence)
            yield f"Nothing had been sent for {self.since(silence)} ({last} was last)."
        yield from self.deadline()

    def deadline(self) -> Iterator[str]:
        """How old the newest acknowledgement was, against the timer."""
        segment, progress = self.segment, self.progress()
        if progress:
            yield (
                f"The highest acknowledgement before it, {progress.ack:,} in"
                f" {self.frame(progress)}, was {self.since(progress)} old."
            )
        if segment.srtt_ns is None:
            yield "No RTT was measured before, so that the timeout is a second (RFC 6298)."
        else:
            yield (
                f"With a smoothed RTT of {as_duration(segment.srtt_ns)} the sender's timeout is"
                f" about {as_duration(segment.rto_ns)}: SRTT + max(200 ms, 4 RTTVAR), as Linux has"
                " it; from 80 % of it on a timeout is assumed."
            )

    def overtaken(self) -> Iterator[str]:
        """What was sent above it came before it."""
        above = self.trace.mine('frame < $frame AND payload > 0 AND "start" >= $end')
        if above:
            more = f" and {len(above) - 1} more" if len(above) > 1 else ""
            first = f"{self.frame(above[0])}{more}, up to {self.since(above[0])} before it,"
            yield f"{first} had bytes above it."


def span(first: int, last: int) -> str:
    """Write a range of numbers, both ends included."""
    return f"{first:,}" if first >= last else f"{first:,} to {last:,}"


NAMES = {
    "new": "new data",
    "fast_retransmission": "a fast retransmission",
    "rto_retransmission": "a retransmission after a timeout",
    "tlp_retransmission": "a tail loss probe",
    "spurious_retransmission": "a spurious retransmission",
    "retransmission": "a retransmission",
    "reordered": "data that came late, sent once",
    "zero_window_probe": "a zero-window probe",
    "keep_alive": "a keep-alive",
    "duplicate_frame": "a second copy of a frame, made by the capture",
    "duplicate_ack": "a duplicate acknowledgement",
    "ack": "an acknowledgement",
    "syn": "the opening of the connection",
    "fin": "the end of a direction",
    "rst": "a reset",
}
"""What a kind is called in a sentence."""

MOST_LISTED = 4
"""Frames of a kind that are named one by one."""
