"""House rules about the .def lists of causes and fixes: what they name is there, and stands in the documents. rules.py runs them."""

import re

CAUSES, FIXES, CAUSE_PAGES = "include/hostprobe/causes.def", "include/hostprobe/fixes.def", "docs/causes/"


def causes_are_found_and_have_a_page(tree):
    """Each row of causes.def: something in the analysis names it, and a page says when and by what evidence."""
    listed = tree.text(CAUSES)
    causes = dict(re.findall(r"^HP_CAUSE\((\w+), (\w+),", listed, flags=re.M))
    pages = {name.stem: tree.text(name) for name in tree.files(".md", under=CAUSE_PAGES)}
    named = "".join(tree.text(name) for room in ("transfers", "step_time", "causes")
                    for name in tree.files(".cpp", under=f"libhostprobe/analysis/{room}/"))
    for name, cause in causes.items():
        if not re.search(rf"\bCause::k{name}\b", named):
            yield f"{CAUSES}: nothing in the analysis finds {cause}"
        if not pages.get(cause, "").startswith(f"# `{cause}`\n"):
            yield f"{CAUSE_PAGES}{cause}.md is missing, or does not begin with the cause's id"
    for page in sorted(pages.keys() - set(causes.values())):
        yield f"{CAUSE_PAGES}{page}.md: there is no such cause"
    told = "".join(pages.values()) + tree.text("docs/reference/findings.md")
    for word in re.findall(r"\bHP_(?:MAYBE_)?(?:COUNT|REAL|TEXT)\((\w+)\)", re.sub(r"^#.*", "", listed, flags=re.M)):
        if f"`{word}`" not in told:
            yield f"{CAUSES}: no page of a cause names the evidence {word}"


def fixes_stand_in_their_page(tree):
    listed = tree.text(FIXES)
    for kind, page, form in (("FIX", "docs/reference/fixes.md", "\n| `{}` |"), ("REMEDY", "docs/reference/findings.md", "`{}`")):
        for name in re.findall(rf"^HP_{kind}\(\w+, (\w+),", listed, flags=re.M):
            if form.format(name) not in tree.text(page):
                yield f"{page} lacks {name} of {FIXES}"


ALL = (causes_are_found_and_have_a_page, fixes_stand_in_their_page)
