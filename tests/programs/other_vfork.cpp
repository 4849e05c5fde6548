// other_vfork: another interposer's vfork, which counts and passes on.
#include <dlfcn.h>

extern "C" {
long other_vforks = 0;
void* other_vfork_behind = nullptr;
}

// A vfork cannot be called and returned from: it is jumped to.
#if defined(__x86_64__)
asm(R"(
        .globl  vfork
        .type   vfork, @function
vfork:  mov     other_vforks@GOTPCREL(%rip), %rax
        incq    (%rax)
        mov     other_vfork_behind@GOTPCREL(%rip), %rax
        jmp     *(%rax)
        .size   vfork, . - vfork
)");
#elif defined(__aarch64__)
asm(R"(
        .globl  vfork
        .type   vfork, @function
vfork:  hint    34  // bti c
        adrp    x16, :got:other_vforks
        ldr     x16, [x16, :got_lo12:other_vforks]
        ldr     x17, [x16]
        add     x17, x17, 1
        str     x17, [x16]
        adrp    x16, :got:other_vfork_behind
        ldr     x16, [x16, :got_lo12:other_vfork_behind]
        ldr     x16, [x16]
        br      x16
        .size   vfork, . - vfork
)");
#endif

static __attribute__((constructor)) void find() { other_vfork_behind = dlsym(RTLD_NEXT, "vfork"); }
