#!/usr/bin/env python3
"""embed_texts.py SCHEMAS PAGES OUTPUT: the JSON Schemas and the pages of causes as C++ source (embedded_text.h)."""

import sys
from pathlib import Path

LONGEST = 8000  # of one literal: compilers promise 65 536, and old ones less


def literals(text):
    assert ')text"' not in text, "ends the literal"
    return "\n".join(f'R"text({text[at:at + LONGEST]})text"' for at in range(0, len(text), LONGEST))


def rows(folder, suffix):
    for path in sorted(Path(folder).glob("*" + suffix)):
        yield f'    {{"{path.name.removesuffix(suffix)}",\n{literals(path.read_text(encoding="utf-8"))}}},\n'


def main():
    schemas, pages, output = sys.argv[1:]
    source = '#include "report/embedded_text.h"\n\nnamespace hostprobe::analysis {\n\n'
    for name, folder, suffix in (("schemas", schemas, ".schema.json"), ("cause_pages", pages, ".md")):
        source += (f"const std::vector<EmbeddedText>& {name}() {{\n  static const std::vector<EmbeddedText> kTexts = {{\n"
                   f"{''.join(rows(folder, suffix))}  }};\n  return kTexts;\n}}\n\n")
    Path(output).write_text(source + "}  // namespace hostprobe::analysis\n", encoding="utf-8")


if __name__ == "__main__":
    main()
