"""Files of Perfetto's own form, read by the schema of Perfetto's Python package and put together as its documentation says."""

import gzip
import sys
from collections import defaultdict, namedtuple

from probed import path_of

sys.path.insert(0, str(next((path_of("PERFETTO_PYTHON").parents[1] / "lib").glob("python3*")) / "site-packages"))

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

Slice = namedtuple("Slice", "pid tid track name category begin end arguments flows")

STATE_CLEARED, NEEDS_STATE = 1, 2
BOOTTIME, MONOTONIC, REALTIME = 6, 3, 1


class PerfettoFile:
    """slices, instants (as slices without length), flows by id, events of the scheduler by name, processes and threads by id."""

    def __init__(self, path):
        data = path.read_bytes()
        self.trace = schema.Trace()
        self.trace.ParseFromString(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        self.slices, self.instants, self.numbers, self.ftrace = [], [], [], []
        self.flows = defaultdict(lambda: [0, 0])
        self.processes, self.threads, self.tracks, self.tree, self.clocks = {}, {}, {}, {}, {}
        self.bundles = []
        self._read_descriptors()
        events = self._read_events()
        self._nest(sorted(events, key=lambda e: e[0]))

    def _read_descriptors(self):
        for packet in self.trace.packet:
            if packet.HasField("track_descriptor"):
                self._read_descriptor(packet.track_descriptor)
            for clock in packet.clock_snapshot.clocks:
                self.clocks[clock.clock_id] = clock.timestamp
            for thread in packet.process_tree.threads:
                self.tree[thread.tid] = (thread.tgid, thread.name)

    def _read_descriptor(self, track):
        assert track.uuid not in self.tracks
        self.tracks[track.uuid] = track
        if track.HasField("process"):
            assert track.process.pid not in self.processes
            self.processes[track.process.pid] = track.process.process_name
        if track.HasField("thread"):
            assert (track.thread.pid, track.thread.tid) not in self.threads
            self.threads[track.thread.pid, track.thread.tid] = track.thread.thread_name

    def _read_events(self):
        events, names = [], {}
        for packet in self.trace.packet:
            sequence = packet.trusted_packet_sequence_id
            assert sequence > 0
            if packet.sequence_flags & STATE_CLEARED:
                names[sequence] = defaultdict(dict)
            assert sequence in names, "a sequence that does not begin"
            known = names[sequence]
            for kind in ("event_categories", "event_names", "debug_annotation_names"):
                for one in getattr(packet.interned_data, kind):
                    assert one.iid not in known[kind]
                    known[kind][one.iid] = one.name
            if packet.HasField("ftrace_events"):
                self._read_bundle(packet.ftrace_events)
            if packet.HasField("track_event"):
                assert packet.sequence_flags & NEEDS_STATE
                events.append((packet.timestamp, packet.track_event, known.copy()))
        return events

    def _read_bundle(self, bundle):
        self.bundles.append(bundle)
        for event in bundle.event:
            self.ftrace.append((bundle.cpu, event))
        times = [event.timestamp for event in bundle.event]
        assert times == sorted(times)

    def _nest(self, events):
        """Sorted by time, what stands first in the file first: as Perfetto does it."""
        open_slices = defaultdict(list)
        for time, event, known in events:
            track = self.tracks[event.track_uuid]
            kind = event.type
            for flow in event.flow_ids:
                assert flow not in self.flows
                self.flows[flow][0] += 1
            for flow in event.terminating_flow_ids:
                assert self.flows[flow][0] == 1, "an arrow without a begin"
                self.flows[flow][1] += 1
            if kind == schema.TrackEvent.TYPE_COUNTER:
                assert track.HasField("counter")
                self.numbers.append((track.name, time, event.double_counter_value))
            elif kind == schema.TrackEvent.TYPE_SLICE_END:
                begin, opened = open_slices[track.uuid].pop()
                self.slices.append(opened._replace(end=time))
            else:
                one = self._slice(track, time, event, known)
                if kind == schema.TrackEvent.TYPE_INSTANT:
                    assert open_slices[track.uuid] or one.name == "wake", one
                    self.instants.append(one)
                else:
                    open_slices[track.uuid].append((time, one))
        assert not any(open_slices.values())

    def _slice(self, track, time, event, known):
        process = track if track.HasField("thread") else self.tracks[track.parent_uuid].process
        pid = track.thread.pid if track.HasField("thread") else process.pid
        arguments = {}
        for argument in event.debug_annotations:
            value = argument.WhichOneof("value")
            arguments[known["debug_annotation_names"][argument.name_iid]] = getattr(argument, value)
        category = known["event_categories"][event.category_iids[0]] if event.category_iids else ""
        return Slice(pid, track.thread.tid if track.HasField("thread") else None, track.uuid, known["event_names"][event.name_iid],
                     category, time, time, arguments, list(event.flow_ids) + list(event.terminating_flow_ids))
