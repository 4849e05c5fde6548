// dlsym.S: our dlsym and vfork, the two functions that must not be ordinary functions.
//
// Room 2 (probe/). dlsym: glibc decides what RTLD_NEXT and RTLD_DEFAULT mean by the return address it finds on the stack,
// so the real dlsym must be *jumped* to with the caller's stack untouched. First hp_match_dlsym() is asked; it answers
// with a wrapper for the names we stand in front of, else with 0. Exported under both versions glibc has had: an
// unversioned one would be skipped by another interposer's dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5").
//
// vfork: the child runs on the parent's memory until it execs, so what it calls would be recorded as the parent's. The
// stub marks the thread as muted while the child runs. The child overwrites the stack below the caller's return address,
// and may vfork itself: what the return needs lies in thread-local storage, one slot for each vfork that has not returned,
// and a register that every function preserves says which slot. So the parent puts back what it found, whatever its
// child's children have done and however they ended. The offset into ThreadLocal is checked in thread.h.
#define HP_MUTED 20
#define SLOTS 4         // deeper in each other they are the bare system call, whose return needs no memory
#define SLOT_RETURN 0   // of a slot: the caller's return address,
#define SLOT_RBX 8      // its rbx,
#define SLOT_MUTED 16   // and what it found
#define SLOT_DEPTH 20
#define SLOT_BITS 5
#define FIRST_SLOT 32
        .section .tbss, "awT", @nobits
        .p2align 5
hp_t_vforks:                            // how many have not returned; the slots
        .zero   FIRST_SLOT + (SLOTS << SLOT_BITS)
        .text
        .globl  hp_dlsym
        .hidden hp_dlsym
        .type   hp_dlsym, @function
        .p2align 4
hp_dlsym:
        .cfi_startproc
        endbr64
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        mov     24(%rsp), %rdx          // the caller, third argument
        call    hp_match_dlsym
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        test    %rax, %rax
        jnz     1f
        jmp     *hp_next_dlsym(%rip)
1:      ret
        .cfi_endproc
        .size   hp_dlsym, . - hp_dlsym

        .globl  hp_dlsym_old
        .set    hp_dlsym_old, hp_dlsym
        .symver hp_dlsym_old, dlsym@GLIBC_2.2.5
        .globl  hp_dlsym_new
        .set    hp_dlsym_new, hp_dlsym
        .symver hp_dlsym_new, dlsym@@GLIBC_2.34

        .globl  vfork
        .type   vfork, @function
        .p2align 4
vfork:
        .cfi_startproc
        endbr64
        mov     hp_real_vfork(%rip), %rcx
        test    %rcx, %rcx
        jnz     1f
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    hp_find_vfork
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        mov     hp_real_vfork(%rip), %rcx
        test    %rcx, %rcx
        jz      3f                      // called before our constructor
1:      mov     hp_t_vforks@gottpoff(%rip), %rax
        add     %fs:0, %rax
        mov     (%rax), %esi
        cmp     $SLOTS, %esi
        jae     3f
        incl    (%rax)                  // before the slot is filled: a signal handler's vfork takes the next one
        mov     %rsi, %rdx
        shl     $SLOT_BITS, %rdx
        lea     FIRST_SLOT(%rax,%rdx), %rdx
        mov     hp_t_local@gottpoff(%rip), %rax
        mov     %fs:HP_MUTED(%rax), %edi
        mov     %esi, SLOT_DEPTH(%rdx)
        mov     %edi, SLOT_MUTED(%rdx)
        incl    %fs:HP_MUTED(%rax)
        mov     %rbx, SLOT_RBX(%rdx)
        mov     %rdx, %rbx
        .cfi_remember_state
        .cfi_escape 0x10, 3, 2, 0x73, SLOT_RBX         // rbx lies at rbx + SLOT_RBX
        pop     SLOT_RETURN(%rbx)
        .cfi_adjust_cfa_offset -8
        .cfi_escape 0x10, 16, 2, 0x73, SLOT_RETURN     // so does the return address
        call    *%rcx                   // returns twice
        test    %eax, %eax
        jz      2f                      // the child stays muted; the parent comes back after its exec or exit
        mov     hp_t_local@gottpoff(%rip), %rcx
        mov     SLOT_MUTED(%rbx), %edx
        mov     %edx, %fs:HP_MUTED(%rcx)
        mov     hp_t_vforks@gottpoff(%rip), %rcx
        mov     SLOT_DEPTH(%rbx), %edx
        mov     %edx, %fs:(%rcx)
2:      mov     SLOT_RETURN(%rbx), %rdx
        .cfi_register %rip, %rdx
        mov     SLOT_RBX(%rbx), %rbx
        .cfi_same_value %rbx
        jmp     *%rdx
        .cfi_restore_state
3:      pop     %rdx
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rdx
        mov     $58, %eax
        syscall
        push    %rdx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rip, -8
        cmp     $-4095, %rax
        jae     4f
        ret
4:      neg     %eax
        push    %rax
        .cfi_adjust_cfa_offset 8
        call    __errno_location@PLT
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        mov     %ecx, (%rax)
        mov     $-1, %rax
        ret
        .cfi_endproc
        .size   vfork, . - vfork
        .section .note.GNU-stack,"",@progbits
