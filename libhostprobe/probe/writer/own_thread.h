// own_thread.h: the one thread of hostprobe in a process: whether there is one, and how it is sent away and let back.
//
// Room 2 (probe/). Asked on the program's threads. It is away where a call would harm it, or see it: while a namespace is entered, or
// rights are given up. It starts by itself where somebody takes a chunk (thread_start.h); what it does is in writer.cpp.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

enum class WriterState : std::uint32_t { kNone, kStarting, kRunning, kFinished, kEndedWithout };
extern std::atomic<WriterState> g_writer_state;
// The thread that writes has a table of descriptors of its own: a program that closes all of its own harms none of them.
extern bool g_own_descriptors;

// Where there is no writer: none starts until it is let in. False: there is one.
bool keep_writer_out();
void let_writer_in();

// Thread id of the writer; 0 when there is none.
std::uint32_t writer_tid();
// Ends the writer thread without closing the trace, and waits for it. False: it is still there, because it did not come by
// within so many milliseconds (0: however long it takes): it may wait for a lock of the loader that the caller holds. It
// starts again after a while, where somebody takes a chunk.
bool send_writer_away(unsigned patience_ms);
// After that, at once.
void let_writer_return();
// For good: what comes later is written at exit.
void dismiss_writer();
// Around a call that the writer must not be there for, before it is sent away and before it may return. Then true: no other
// thread is in such a call.
void begin_absence();
bool end_absence();
// Once it has ended.
void join_writer();

// The thread's own side.
void begin_own_thread(const void* start_routine);
void end_own_thread();
bool is_asked_to_leave();
// False: nobody waits for it any longer.
bool agree_to_leave();

// Starting it (thread_start.h): not again and again where no thread can be had.
bool writer_may_start();
void put_off_writer();
extern pthread_t g_writer_thread;

}  // namespace hostprobe::probe
