// other_vfork: another interposer's vfork, which counts and passes on.
#include <dlfcn.h>

extern "C" {
long other_vforks = 0;
void* other_vfork_behind = nullptr;
}

// A vfork cannot be called and returned from: it is jumped to.
asm(R"(
        .globl  vfork
        .type   vfork, @function
vfork:  mov     other_vforks@GOTPCREL(%rip), %rax
        incq    (%rax)
        mov     other_vfork_behind@GOTPCREL(%rip), %rax
        jmp     *(%rax)
        .size   vfork, . - vfork
)");

static __attribute__((constructor)) void find() { other_vfork_behind = dlsym(RTLD_NEXT, "vfork"); }
