// dlsym.S: our dlsym and vfork, the two functions that must not be ordinary functions.
//
// Room 2 (probe/). dlsym: glibc decides what RTLD_NEXT and RTLD_DEFAULT mean by the return address that it is called with, so the
// real dlsym must be *jumped* to with the caller's x30. First hp_match_dlsym() is asked; it answers with a wrapper for the names we
// stand in front of, else with 0. Exported under both versions glibc has had: an unversioned one would be skipped by another
// interposer's dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17").
//
// vfork: the child runs on the parent's memory until it execs, so what it calls would be recorded as the parent's. The
// stub marks the thread as muted while the child runs. The child overwrites the stack below the caller's frame, and may
// vfork itself: what the return needs lies in thread-local storage, one slot for each vfork that has not returned, and x19, which
// every function preserves, says which slot. So the parent puts back what it found, whatever its child's children have done and
// however they ended. The offset into ThreadLocal is checked in thread_local.h. Jumps go through x16 or x17, so that a
// function that begins with `bti c` takes them; that and ours are hints that older CPUs pass over.
#define HP_MUTED 20
#define SLOTS 4         // deeper in each other they are the bare system call, whose return needs no memory
#define SLOT_RETURN 0   // of a slot: the caller's return address,
#define SLOT_X19 8      // its x19,
#define SLOT_MUTED 16   // and what it found
#define SLOT_DEPTH 20
#define SLOT_BITS 5
#define FIRST_SLOT 32
#define CLONE_FLAGS 0x4111      // CLONE_VM, CLONE_VFORK, SIGCHLD
#define SYS_CLONE 220

        .macro  load_from_table register, variable
        adrp    \register, \variable
        ldr     \register, [\register, #:lo12:\variable]
        .endm
        .macro  address_of_own register, spare, variable
        mrs     \register, tpidr_el0
        adrp    \spare, :gottprel:\variable
        ldr     \spare, [\spare, #:gottprel_lo12:\variable]
        add     \register, \register, \spare
        .endm

        .section .tbss, "awT", %nobits
        .p2align 5
hp_t_vforks:                            // how many have not returned; the slots
        .zero   FIRST_SLOT + (SLOTS << SLOT_BITS)
        .text
        .globl  hp_dlsym
        .hidden hp_dlsym
        .type   hp_dlsym, %function
        .p2align 4
hp_dlsym:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        mov     x2, x30                 // the caller, third argument
        bl      hp_match_dlsym
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -32
        cbnz    x16, 1f
        load_from_table x16, hp_next_dlsym
        br      x16
1:      mov     x0, x16
        ret
        .cfi_endproc
        .size   hp_dlsym, . - hp_dlsym

        .globl  hp_dlsym_old
        .set    hp_dlsym_old, hp_dlsym
        .symver hp_dlsym_old, dlsym@GLIBC_2.17
        .globl  hp_dlsym_new
        .set    hp_dlsym_new, hp_dlsym
        .symver hp_dlsym_new, dlsym@@GLIBC_2.34

        .globl  vfork
        .type   vfork, %function
        .p2align 4
vfork:
        .cfi_startproc
        hint    #34                     // bti c
        load_from_table x17, hp_real_vfork
        cbnz    x17, 1f
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        bl      hp_find_vfork
        ldp     x29, x30, [sp], #16
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -16
        load_from_table x17, hp_real_vfork
        cbz     x17, 3f                 // called before our constructor
1:      address_of_own x9, x10, hp_t_vforks
        ldr     w10, [x9]
        cmp     w10, #SLOTS
        b.hs    3f
        add     w11, w10, #1
        str     w11, [x9]               // before the slot is filled: a signal handler's vfork takes the next one
        add     x11, x9, #FIRST_SLOT
        add     x11, x11, x10, lsl #SLOT_BITS
        address_of_own x12, x13, hp_t_local
        ldr     w13, [x12, #HP_MUTED]
        str     w10, [x11, #SLOT_DEPTH]
        str     w13, [x11, #SLOT_MUTED]
        add     w13, w13, #1
        str     w13, [x12, #HP_MUTED]
        str     x19, [x11, #SLOT_X19]
        str     x30, [x11, #SLOT_RETURN]
        mov     x19, x11
        .cfi_remember_state
        .cfi_escape 0x10, 19, 2, 0x83, SLOT_X19        // x19 lies at x19 + SLOT_X19
        .cfi_escape 0x10, 30, 2, 0x83, SLOT_RETURN     // so does the return address
        blr     x17                     // returns twice
        cbz     x0, 2f                  // the child stays muted; the parent comes back after its exec or exit
        address_of_own x12, x13, hp_t_local
        ldr     w13, [x19, #SLOT_MUTED]
        str     w13, [x12, #HP_MUTED]
        address_of_own x12, x13, hp_t_vforks
        ldr     w13, [x19, #SLOT_DEPTH]
        str     w13, [x12]
2:      ldr     x30, [x19, #SLOT_RETURN]
        .cfi_same_value x30
        ldr     x19, [x19, #SLOT_X19]
        .cfi_same_value x19
        ret
        .cfi_restore_state
3:      mov     x0, #CLONE_FLAGS
        mov     x1, sp
        mov     x8, #SYS_CLONE
        svc     #0
        cmn     x0, #4095
        b.hs    4f
        ret
4:      stp     x30, x0, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x30, 0
        bl      __errno_location
        ldp     x30, x1, [sp], #16
        .cfi_restore x30
        .cfi_adjust_cfa_offset -16
        neg     w1, w1
        str     w1, [x0]
        mov     x0, #-1
        ret
        .cfi_endproc
        .size   vfork, . - vfork
        .section .note.GNU-stack,"",%progbits
