// assets.h: page.css and page.js, as the build puts them into the command (embed.py).
//
// Room 3.
#pragma once

namespace hostprobe::analysis {

extern const char kPageStyle[];
extern const char kPageScript[];
// SHA-256 in base64: a browser takes no other style and no other script from a page.
extern const char kPageStyleHash[];
extern const char kPageScriptHash[];

}  // namespace hostprobe::analysis
