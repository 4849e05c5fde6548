#!/usr/bin/env python3
"""embed.py STYLE SCRIPT OUTPUT: the style and the script of pages as C++ source, with the hashes by which a browser knows them."""

import base64
import hashlib
import sys
from pathlib import Path


def literal(name, text):
    assert ')asset"' not in text, "ends the literal"
    return f'const char {name}[] = R"asset({text})asset";\n'


def hash_of(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def main():
    style, script, output = (Path(word) for word in sys.argv[1:])
    source = '#include "report/html/assets.h"\n\nnamespace hostprobe::analysis {\n\n'
    for name, path in (("kPageStyle", style), ("kPageScript", script)):
        text = path.read_text(encoding="utf-8")
        assert "</" not in text, f"{path}: would end the element that it stands in"
        source += literal(name, text) + literal(f"{name}Hash", hash_of(text))
    output.write_text(source + "\n}  // namespace hostprobe::analysis\n", encoding="utf-8")


if __name__ == "__main__":
    main()
