// at_start.h: where what the constructor reads and writes lies.
//
// Room 2 (probe/). Each page that a starting process touches for the first time is a page fault, and most processes below a
// job do nothing but start and end: the constructor's variables lie together, in the data page that the loader writes to
// anyway, and so does its code.
#pragma once

#define HP_START_DATA __attribute__((section("hp_start")))
#define HP_START_CODE __attribute__((section(".text.startup.hp")))
