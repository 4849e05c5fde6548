"""Names of hooks that stand as text in the rooms where a hook's row alone says what it is; for rules.py."""

import re

# What a hook is to these its row says (format/hook_role.h), so no name is looked at.
ROOMS = tuple(f"libhostprobe/{room}/" for room in (
    "probe/writer", "steps", "trace", "model", "import", "analysis", "answer", "report", "export", "live"))
# Rows of earlier versions, and those of other tools, do not say it: the only table of names.
TABLE_OF_NAMES = "libhostprobe/trace/hook_list.cpp"
CALLS = r"\b(?:find_behind_us|routed_function|find_routed)\([^;]*$"  # finds the real one, to call it
NAMES_OF_NO_HOOK = {  # (file, word)
    ("libhostprobe/report/finding_text.cpp", "sleep"),  # a finding's evidence: what a wait is for
}
COMPARES = r"(?:==|!=|(?:starts_with|ends_with|begins_with|contains|find|same|after|str\w*cmp)\()[^;\"]*$"


def hook_names(tree):
    """Of all blocks of hooks, as they stand in the source."""
    names = set()
    for name in tree.files(".cpp", under="libhostprobe/probe/"):
        for call in re.findall(r"^HP_[A-Z0-9_]+\(([^(\")]*)", tree.text(name), flags=re.M):
            words = (word.strip() for word in call.split(","))
            names |= {word for word in words if re.fullmatch(r"[a-z_]\w{3,}", word)
                      and not re.fullmatch(r"k[A-Z]\w*|\w+_t|_\w{4}|long|void|unsigned", word)}
    return names


def names_in(line, names):
    """Literals that are the name of a hook, or that such a name is compared with."""
    for found in re.finditer(r'"((?:[^"\\]|\\.)*)"', line):
        text, before, behind = found.group(1), line[:found.start()], line[found.end():]
        if re.search(CALLS, before):
            continue
        compared = re.search(COMPARES, before) is not None
        listed = re.match(r'\s*,\s*"([a-z_]\w+)"', behind)
        is_word = re.fullmatch(r"[a-z]+", text) is not None  # a key of JSON, a word of a sentence
        begins = (len(text) > 4 or text.endswith("_")) and text.strip("_") and any(name.startswith(text) for name in names)
        if text in names and (not is_word or compared or (listed and listed.group(1) in names)):
            yield text
        elif compared and begins:
            yield text


def literals(tree, suffixes):
    """(file, line, name) of each."""
    names = hook_names(tree)
    for room in ROOMS:
        for name in tree.files(*suffixes, under=room):
            if str(name) == TABLE_OF_NAMES:
                continue
            lines = re.sub(r"//[^\n]*", "", tree.text(name)).splitlines()
            for number, line in enumerate(lines, 1):
                for text in names_in("" if line.lstrip().startswith("#include") else line, names):
                    if (str(name), text) not in NAMES_OF_NO_HOOK:
                        yield name, number, text
