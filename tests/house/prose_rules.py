"""House rule about the English of what people read: the pages of docs, README, and what the command says. rules.py runs it."""

import re

# Words that hide who does what, with what to write instead. Character classes keep the patterns from matching themselves.
DIALECT = [
    (r"(?i)\b[n]obody\b", "no thread, no rank, it is not known"),
    (r"(?i)\b[w]hoever\b", "the process that, anybody who"),
    (r"(?i)(?<!cannot )(?<!cannot be )\b[t]ell(s|ing)?\b", "says, shows, lists"),
    (r"(?i)\b[t]old\b", "reported, recorded, known"),
    (r"(?m)(^|[.:] )Of [w]hich\b", "a sentence with a subject"),
]
PAGES = (("README.md", ""), ("docs/", "docs/decisions/"))  # (those that begin so, but not so)
ROOMS_THAT_SPEAK = ("libhostprobe/cli/",)


def texts(tree):
    """(file, number of the line, what a reader sees of it)."""
    for beginning, but in PAGES:
        for name in tree.files(".md", under=beginning):
            if not but or not str(name).startswith(but):
                yield from ((name, number, line) for number, line in enumerate(tree.text(name).splitlines(), 1))
    for room in ROOMS_THAT_SPEAK:
        for name in tree.files(".cpp", under=room):
            for number, line in enumerate(tree.text(name).splitlines(), 1):
                if not line.lstrip().startswith(("//", "#")):
                    yield from ((name, number, said) for said in re.findall(r'"((?:[^"\\]|\\.)*)"', line))


def prose_is_plain(tree):
    for name, number, text in texts(tree):
        for pattern, instead in DIALECT:
            found = re.search(pattern, text)
            if found:
                yield f"{name}:{number}: '{found.group().strip()}' says little; write for example: {instead}"


ALL = (prose_is_plain,)
