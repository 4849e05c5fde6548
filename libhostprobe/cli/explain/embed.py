#!/usr/bin/env python3
"""embed.py OUTPUT PAGE…: the pages of causes (docs/causes/) as C++ source, in the order given."""

import sys
from pathlib import Path


def main():
    output, *pages = (Path(word) for word in sys.argv[1:])
    source = '#include "cli/explain/cause_pages.h"\n\nnamespace hostprobe::cli {\n\nconst CausePage kCausePages[] = {\n'
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert ')page"' not in text, f"{page}: ends the literal"
        source += f'    {{"{page.stem}", R"page({text})page"}},\n'
    output.write_text(source + f"}};\nconst std::size_t kCausePageCount = {len(pages)};\n\n}}  // namespace hostprobe::cli\n", encoding="utf-8")


if __name__ == "__main__":
    main()
