// dlsym_x86_64.S: our dlsym and vfork, the two functions that must not be ordinary functions.
//
// Room 2 (probe/). dlsym: glibc decides what RTLD_NEXT and RTLD_DEFAULT mean by the return address it finds on the stack,
// so the real dlsym must be *jumped* to with the caller's stack untouched. First hp_match_dlsym() is asked; it answers
// with a wrapper for the names we stand in front of, else with 0. Exported under both versions glibc has had: an
// unversioned one would be skipped by another interposer's dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5").
//
// vfork: the child runs on the parent's memory until it execs, so what it calls would be recorded as the parent's. The
// stub marks the thread as muted while the child runs. The return address is kept in thread-local storage, because the
// child overwrites the stack below it. The offsets into ThreadLocal are checked in thread.cpp.
#define HP_MUTED 20
#define HP_VFORK_RETURN 56
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
        jz      3f
1:      pop     %rdx                    // the caller's return address
        .cfi_adjust_cfa_offset -8
        mov     hp_t_local@gottpoff(%rip), %rax
        mov     %rdx, %fs:HP_VFORK_RETURN(%rax)
        incl    %fs:HP_MUTED(%rax)
        call    *%rcx                   // returns twice
        mov     hp_t_local@gottpoff(%rip), %rcx
        mov     %fs:HP_VFORK_RETURN(%rcx), %rdx
        test    %eax, %eax
        jz      2f                      // the child stays muted; the parent comes back after its exec or exit
        decl    %fs:HP_MUTED(%rcx)
2:      jmp     *%rdx
3:      pop     %rdx                    // called before our constructor: the system call is all there is
        mov     $58, %eax
        syscall
        cmp     $-4095, %rax
        jb      4f
        mov     $-1, %rax
4:      jmp     *%rdx
        .cfi_endproc
        .size   vfork, . - vfork
        .section .note.GNU-stack,"",@progbits
