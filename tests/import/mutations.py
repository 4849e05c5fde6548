"""Damages to profiles, one by one, and what must be left: the events of the profile without those that a damage takes away.

A profile is its text before the list of events, the texts of the events, and the text behind the list. A mutation damages one event, or what
lies around the events; `expected` is an intact profile that must read the same. So nothing is lost, and nothing is made up.
Texts are put together from slices of the whole one: real profiles have 100 000 events, and each is damaged 150 times.
"""

import bisect
import gzip
import json
import re
import zlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

PLACES = ("begin", "middle", "end")
NO_JSON, DAMAGED, OUTSIDE = "values that are no JSON", "events that are damaged", "damaged places outside of events"
COMMAS, CUT, DURATIONS = "commas between events", "the end of the text cuts", "durations that are missing"
QUOTES, CONTROL, ESCAPES = "quotes that are not escaped", "raw control bytes", "escapes that are none"
NEGATIVE, NO_EVENTS, NO_TIDS, NO_END = "negative durations", "that are no events", "thread ids that are none", "lists of events without an end"
NO_TIMES, FAR, NO_PIDS = "events with a time that is no number", "a year or more away", "process ids that are none"
BETWEEN = b",\n  "


@dataclass
class Profile:
    head: bytes    # up to the list's bracket, with it
    events: list   # of bytes
    tail: bytes    # from its other bracket on

    @cached_property
    def whole(self):
        return self.text(self.events)

    @cached_property
    def begins(self):
        """Of each event in the whole text, and of what would come behind the last."""
        return list(accumulate((len(event) + len(BETWEEN) for event in self.events), initial=len(self.head)))

    def end(self, number):
        return self.begins[number + 1] - len(BETWEEN)

    def text(self, events):
        return self.head + BETWEEN.join(events) + self.tail

    def changed(self, number, count, *events):
        """With others in the place of `count` events."""
        before, behind = self.whole[:self.begins[number]], self.whole[self.end(number + count - 1):]
        if events:
            return before + BETWEEN.join(events) + behind
        is_last = number + count == len(self.events)
        return before.removesuffix(BETWEEN) + behind if is_last else before + behind.removeprefix(BETWEEN)

    def up_to(self, number):
        """The text that ends behind so many events."""
        return self.whole[:self.end(number - 1)] if number else self.head

    def only(self, number):
        """So many events in a whole document. What a file says behind its list is lost with its end."""
        return self.up_to(number) + b"\n]}"


@dataclass
class Damage:
    bytes: bytes                # of the damaged file
    expected: bytes             # of a profile that reads the same, or of several; None: nothing is read
    at: tuple = None            # where the damage begins and ends in the text; None: it is all of it
    all: int = 0                # events
    lost: int = 0               # of them
    counted: dict = field(default_factory=dict)  # a word of the kind → how many
    message: str = ""           # what the command says why it was read in part; "" = it was read in full


def split(data):
    """A profile whose document is an object, event by event."""
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
    decoder, words, at, events = json.JSONDecoder(), text.decode("latin-1"), begin, []
    while True:
        at = re.compile(r"[\s,]*").match(words, at).end()
        if words[at] == "]":
            return Profile(text[:begin], events, text[at:])
        end = decoder.raw_decode(words, at)[1]
        events.append(text[at:end])
        at = end


def excerpt(profile, most):
    """Its first, middle and last events, with its own head and tail."""
    events, each = profile.events, most // 3
    middle = (len(events) - each) // 2
    return profile if len(events) <= most else replace(profile, events=events[:each] + events[middle:middle + each] + events[-each:])


EVENT_MUTATIONS, TEXT_MUTATIONS = {}, {}


def of_event(name, needs=b'"dur"', **expectations):
    """A function event → (damaged, what it must read as; None = it is lost)."""
    def add(function):
        EVENT_MUTATIONS[name] = (function, needs, expectations)
        return function
    return add


def of_text(name, **expectations):
    """A function (profile, number of an event) → Damage."""
    def add(function):
        TEXT_MUTATIONS[name] = (function, expectations)
        return function
    return add


def with_duration(event, value, name=b"dur"):
    changed, count = re.subn(rb'("%s":\s*)("[^"]*"|[-\w.+]+)' % name, lambda m: m.group(1) + value, event, count=1)
    assert count == 1, event
    return changed


def with_name(event, value):
    changed, count = re.subn(rb'("name":\s*")[^"]*"', lambda m: m.group(1) + value + b'"', event, count=1)
    assert count == 1, event
    return changed


# ---- numbers ----

for name, value, counted in (
        ("inf", b"inf", {NO_JSON: 1, DURATIONS: 1}), ("nan", b"nan", {NO_JSON: 1, DURATIONS: 1}), ("-Infinity", b"-Infinity", {DURATIONS: 1}),
        ("30 digits", b"123456789012345678901234567890", {DURATIONS: 1}), ("1e400", b"1e400", {DURATIONS: 1}),
        ("near 2^64", b"18446744073709551615", {DURATIONS: 1}), ("negative", b"-5", {NEGATIVE: 1}),
        ("control in number", b"1\x012", {NO_JSON: 1, DURATIONS: 1}), ("no UTF-8 in number", b"1\xff2", {NO_JSON: 1, DURATIONS: 1})):
    EVENT_MUTATIONS[name] = ((lambda value: lambda event: (with_duration(event, value), with_duration(event, b'"none"' if value != b"-5" else b"-5")))(value),
                             b'"dur"', {"counted": counted})


for name, value, counted in (("time inf", b"inf", {NO_JSON: 1, NO_TIMES: 1}), ("time 30 digits", b"123456789012345678901234567890", {NO_TIMES: 1}),
                             ("time 1e400", b"1e400", {NO_TIMES: 1}), ("time near 2^64", b"18446744073709551615", {NO_TIMES: 1}),
                             ("time is text", b'"soon"', {NO_TIMES: 1}), ("time years ago", b"5", {FAR: 1})):
    EVENT_MUTATIONS[name] = ((lambda value: lambda event: (with_duration(event, value, b"ts"), None))(value), b'"cpu_op"', {"counted": counted})


@of_event("string for number")
def quoted(event):
    return re.sub(rb'("(?:dur|ts|tid)":\s*)(-?\d[\d.]*)', rb'\1"\2"', event), event


@of_event("fractions of ns")
def with_fraction(event):
    return with_duration(event, b"7.1234999"), with_duration(event, b"7.123")


@of_event("tid -1", needs=b'"cpu_op"', counted={NO_TIDS: 1})
def without_thread(event):
    return with_duration(event, b"-1", b"tid"), with_duration(event, b'"-1"', b"tid")


@of_event("pid -1", needs=b'"cpu_op"', counted={NO_PIDS: 1})
def without_process(event):
    return with_duration(event, b"-1", b"pid"), with_duration(event, b'"-1"', b"pid")


@of_event("tid 1\\xff2", needs=b'"cpu_op"', counted={NO_JSON: 1, NO_TIDS: 1})
def with_foreign_thread(event):
    return with_duration(event, b"1\xff2", b"tid"), with_duration(event, b'"1\xff2"', b"tid")


@of_event("pid GPU 0", needs=b'"kernel"')
def on_named_gpu(event):
    return with_duration(event, b'"GPU 0"', b"pid"), with_duration(event, b"0", b"pid")


# ---- strings ----

for name, value, expected, counted in (
        ("control byte in name", b"a\x01b\x1fc", b"a\\u0001b\\u001fc", {CONTROL: 1}), ("line end in name", b"a\nb\r\nc", b"a\\nb\\r\\nc", {CONTROL: 1}),
        ("zero byte in name", b"a\0b", b"a\\u0000b", {CONTROL: 1}), ("bad escape", b"a\\qb\\u12G4", b"a\\\\qb\\\\u12G4", {ESCAPES: 2}),
        ("lone surrogate", b"a\\ud800b", b"a\xed\xa0\x80b", {ESCAPES: 1}), ("lone low surrogate", b"a\\udc00b", b"a\xed\xb0\x80b", {}),
        ("no UTF-8 in name", b"1\xff2", b"1\xff2", {}),
        ("unescaped quotes", b'f("a", "b")', b'f(\\"a\\", \\"b\\")', {QUOTES: 1}), ("unescaped bracket", b'x["a"]{"b"}', b'x[\\"a\\"]{\\"b\\"}', {QUOTES: 1})):
    EVENT_MUTATIONS[name] = ((lambda value, expected: lambda event: (with_name(event, value), with_name(event, expected)))(value, expected),
                             b'"name"', {"counted": counted})


@of_event("quote is missing", counted={DAMAGED: 1}, message="a string has no end")
def without_quote(event):
    return re.sub(rb'("name":\s*"[^"]*)"', rb"\1", event, count=1), None


# ---- events ----

@of_event("args []", needs=b'"args"')
def with_empty_list(event):
    begin = event.index(b'"args"')
    return event[:begin] + b'"args": []}', event[:begin] + b'"args": {}}'


@of_event("args null", needs=b'"args"')
def without_args(event):
    begin = event.index(b'"args"')
    return event[:begin] + b'"args": null}', event[:begin] + b'"args": {}}'


@of_event("closing bracket gone", counted={DAMAGED: 1}, message="no JSON")
def without_end(event):
    return event[:event.rindex(b"}")], None


@of_event("opening bracket gone", counted={OUTSIDE: 1}, message="no JSON")
def without_begin(event):
    return event[1:], None


@of_event("zeros in it", counted={DAMAGED: 1}, message="a string has no end")
def with_hole(event):
    begin = event.index(b'"', event.index(b'"dur"') + 1)
    return event[:begin] + bytes(24) + event[begin + 6:], None


@of_event("too deep", counted={DAMAGED: 1}, message="256 deep")
def deep(event):
    return event[:-1] + b', "deep": ' + b"[" * 300 + b"]" * 300 + b"}", None


@of_event("colon gone", counted={DAMAGED: 1}, message="a string has no end")
def without_colon(event):
    return event.replace(b":", b" ", 1), None


# ---- what lies around an event ----

def joined(profile, number, first, rest):
    """The bytes between two places of an event and the next one are gone."""
    return profile.changed(number, 2, first + rest)


@of_text("cut from name into time", lost=2, counted={DAMAGED: 1}, message="a string has no end")
def cut_in_text(profile, number):
    first, second = profile.events[number], profile.events[number + 1]
    middle = re.search(rb'"name":\s*".', first).end()
    rest = re.search(rb'"ts":\s*\d', second).end()
    return joined(profile, number, first[:middle], second[rest:]), profile.changed(number, 2)


@of_text("cut from time to next", lost=1, counted={DAMAGED: 1}, message="no JSON")
def cut_to_next(profile, number):
    first = profile.events[number]
    middle = re.search(rb'"ts":\s*\d', first).end()
    return joined(profile, number, first[:middle], profile.events[number + 1]), profile.changed(number, 1)


@of_text("cut from list to next", lost=1, counted={DAMAGED: 1}, message="inside of another")
def cut_in_list(profile, number):
    first = profile.events[number]
    begin = first.rindex(b"}") if first.count(b"}") == 1 else first.rindex(b"}", 0, first.rindex(b"}"))
    first = first[:begin].rstrip()
    first += (b"" if first.endswith(b"{") else b", ") + b'"list": [1, '
    return joined(profile, number, first, profile.events[number + 1]), profile.changed(number, 1)


@of_text("cut from name into name", lost=2, counted={DAMAGED: 1, COMMAS: 1}, message="twice")
def cut_from_name_to_name(profile, number):
    """The whole would be JSON, but for a comma in front of it."""
    first, second = profile.events[number], profile.events[number + 1]
    begin = re.search(rb'"name":\s*".', first).end()
    rest = b'", "ph": "X", ' + second[1:]
    return joined(profile, number, b"," + first[:begin], rest), profile.changed(number, 2)


@of_text("junk between events", counted={OUTSIDE: 1}, message="no JSON")
def junk(profile, number):
    return profile.changed(number, 1, b"<<<<\x01\x02:{}[] " + profile.events[number]), profile.whole


@of_text("no events in the list", counted={NO_EVENTS: 3})
def elements(profile, number):
    return profile.changed(number, 1, b'17, null, "x"', profile.events[number]), profile.whole


@of_text("comma gone", counted={COMMAS: 1})
def without_comma(profile, number):
    return profile.changed(number, 2, profile.events[number] + b"\n" + profile.events[number + 1]), profile.whole


@of_text("comma twice", counted={COMMAS: 1})
def two_commas(profile, number):
    return profile.changed(number, 1, profile.events[number] + b","), profile.whole


@of_text("text ends in it", lost=None, counted={CUT: 1}, message="ends in the middle")
def ends(profile, number):
    return profile.up_to(number + 1)[:-len(profile.events[number]) // 2], profile.only(number)


@of_text("text ends behind it", lost=None, message="no end")
def ends_behind(profile, number):
    return profile.up_to(number + 1), profile.only(number + 1)


# ---- the whole file ----

WHOLE = {}


def of_whole(name, **expectations):
    def add(function):
        WHOLE[name] = (function, expectations)
        return function
    return add


def packed(text):
    return gzip.compress(text, 1)


for name, encode in (("UTF-8 mark", lambda text: b"\xef\xbb\xbf" + text),
                     ("UTF-16 little", lambda text: b"\xff\xfe" + text.decode("utf-8").encode("utf-16-le")),
                     ("UTF-16 big", lambda text: b"\xfe\xff" + text.decode("utf-8").encode("utf-16-be")),
                     ("UTF-16 without mark", lambda text: text.decode("utf-8").encode("utf-16-le")),
                     ("trailing zeros", lambda text: text + bytes(5000)),
                     ("gzip", packed),
                     ("two gzip members", lambda text: packed(text[:len(text) // 3]) + packed(text[len(text) // 3:])),
                     ("gzip with zeros behind", lambda text: packed(text) + bytes(512))):
    WHOLE[name] = ((lambda encode: lambda profile: (encode(profile.whole), profile.whole))(encode), {})


@of_whole("events in reverse")
def reverse(profile):
    return profile.text(profile.events[::-1]), profile.whole


@of_whole("brackets at the end gone", message="no end")
def without_brackets(profile):
    return profile.up_to(len(profile.events)), profile.only(len(profile.events))


@of_whole("bracket of the list gone", counted={NO_END: 1})
def without_list_end(profile):
    return profile.up_to(len(profile.events)) + profile.tail[1:], profile.whole


@of_whole("two documents", documents=2)
def two_documents(profile):
    second = profile.whole.replace(b'"rank"', b'"Rank"', 1)
    return profile.whole + b"\n" + second, (profile.whole, second)


@of_whole("two documents, end gone", documents=2, message="no end")
def joined_documents(profile):
    second = profile.whole.replace(b'"rank"', b'"Rank"', 1)
    return profile.up_to(len(profile.events)) + second, (profile.only(len(profile.events)), second)


@of_whole("gzip damaged at its end", message="incorrect data check")
def wrong_sum(profile):
    file = bytearray(packed(profile.whole))
    file[-6] ^= 0xff
    return bytes(file), profile.whole


def cut_gzip(share):
    def cut(profile):
        file = packed(profile.whole)
        file = file[:int(len(file) * share)]
        text = zlib.decompressobj(31).decompress(file)
        kept = bisect.bisect_right([profile.end(n) for n in range(len(profile.events))], len(text))
        return file, profile.only(kept), len(profile.events) - kept
    return cut


for name, share in (("gzip cut at 50 %", 0.5), ("gzip cut at 80 %", 0.8)):
    WHOLE[name] = (cut_gzip(share), {"counted": {CUT: 1}, "message": "ends too early"})


@of_whole("text behind the document", counted={OUTSIDE: 1})
def more_behind(profile):
    return profile.whole + b"\nSaved.\n", profile.whole


@of_whole("text before the document", counted={OUTSIDE: 1})
def more_before(profile):
    return b"Saving \xff\xfe ...\n" + profile.whole, profile.whole


@of_whole("head damaged", counted={OUTSIDE: 1}, message="a string has no end")
def head_damaged(profile):
    return profile.whole.replace(b"{", b'{"schemaVersion"; 1, ', 1), profile.whole


@of_whole("rank and host not known")
def without_origin(profile):
    return re.sub(rb'"(distributedInfo|host_name)"', rb'"no_\1"', profile.whole), profile.whole


@of_whole("times from a base")
def with_base(profile):
    """As newer profiles have them: all times are a second less, and the base is a second more."""
    head, base = re.subn(rb'("baseTimeNanoseconds":\s*)(\d+)', lambda m: m.group(1) + b"%d" % (int(m.group(2)) + 10**9), profile.whole)
    text = head if base else profile.whole[:profile.whole.rindex(b"}")] + b', "baseTimeNanoseconds": 1000000000}'
    return re.sub(rb'("ts":\s*)(\d+)', lambda m: m.group(1) + b"%d" % (int(m.group(2)) - 10**6), text), profile.whole


@of_whole("calls of another vendor")
def of_other_vendor(profile):
    return profile.whole.replace(b'"cuda_runtime"', b'"xpu_runtime"'), profile.whole


@of_whole("metadata only", message="no event of a process or a GPU is in it")
def metadata_only(profile):
    return profile.text([event for event in profile.events if re.search(rb'"ph":\s*"M"', event)]), None, len(profile.events)


def of_events(profile):
    for name, (function, needs, expectations) in EVENT_MUTATIONS.items():
        fitting = [n for n, event in enumerate(profile.events) if needs in event and b'"X"' in event]
        for place, number in zip(PLACES, (fitting[0], fitting[len(fitting) // 2], fitting[-1])):
            damaged, expected = function(profile.events[number])
            begin = profile.begins[number]
            yield name, place, Damage(profile.changed(number, 1, damaged), profile.changed(number, 1, *([] if expected is None else [expected])),
                                      (begin, begin + len(damaged)), len(profile.events), int(expected is None), **expectations)


def around_events(profile):
    fitting = [n for n in range(len(profile.events) - 1)
               if all(b'"X"' in one and b'"ts"' in one and b'"args"' in one for one in profile.events[n:n + 2])][2:]
    for name, (function, expectations) in TEXT_MUTATIONS.items():
        for place, number in zip(PLACES, (fitting[0], fitting[len(fitting) // 2], fitting[-1])):
            damaged, expected = function(profile, number)
            kept = number + (CUT not in expectations.get("counted", {}))
            lost = expectations.get("lost", 0)
            # Up to the event behind the next one, which is in its place, or to the end where that is gone.
            at = profile.begins[number], len(damaged) - (len(profile.whole) - profile.begins[number + 2] if lost is not None else 0)
            wanted = {**expectations, "lost": len(profile.events) - kept if lost is None else lost}
            yield name, place, Damage(damaged, expected, at, len(profile.events), **wanted)


def of_all(profile):
    for name, (function, expectations) in WHOLE.items():
        damaged, expected, *lost = function(profile)
        wanted = {word: what for word, what in expectations.items() if word != "documents"}
        all_events = len(profile.events) * expectations.get("documents", 1)
        yield name, "whole", Damage(damaged, expected, None, all_events, *lost, **wanted)


def rows(profile):
    """(name, place, Damage) of everything above."""
    yield from of_events(profile)
    yield from around_events(profile)
    yield from of_all(profile)
