// passages.S: the code of the passages (passages.h), 32 bytes each.
//
// Room 2 (probe/). A passage is a jump, so the function it leads to finds stack and registers as its caller left them. The
// number of passages, and where the gate says that launches wait, are checked in passages.cpp and gate.h.
#define HP_PASSAGES 640
#define HP_LAUNCHES 28
#define HP_GATE _ZN9hostprobe5probe6g_gateE
#define SAVED_VECTORS 128
        .text
        .globl  hp_passages
        .hidden hp_passages
        .type   hp_passages, @function
        .p2align 5
hp_passages:
        .cfi_startproc
        .set    number, 0
        .rept   HP_PASSAGES
        .p2align 5
        cmpl    $0, HP_LAUNCHES+HP_GATE(%rip)
        jne     1f
        jmp     *hp_passage_reals+8*number(%rip)
1:      mov     $number, %eax           // no argument: the functions have no variable ones, and one result
        jmp     hp_launches_before
        .set    number, number+1
        .endr
        .cfi_endproc
        .size   hp_passages, . - hp_passages

        .type   hp_launches_before, @function
        .p2align 4
hp_launches_before:
        .cfi_startproc
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        push    %rdx
        .cfi_adjust_cfa_offset 8
        push    %rcx
        .cfi_adjust_cfa_offset 8
        push    %r8
        .cfi_adjust_cfa_offset 8
        push    %r9
        .cfi_adjust_cfa_offset 8
        sub     $SAVED_VECTORS+8, %rsp
        .cfi_adjust_cfa_offset SAVED_VECTORS+8
        movups  %xmm0, 0(%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        mov     %eax, %edi
        call    hp_enter_passage
        movups  0(%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
        add     $SAVED_VECTORS+8, %rsp
        .cfi_adjust_cfa_offset -(SAVED_VECTORS+8)
        pop     %r9
        .cfi_adjust_cfa_offset -8
        pop     %r8
        .cfi_adjust_cfa_offset -8
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        pop     %rdx
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   hp_launches_before, . - hp_launches_before
        .section .note.GNU-stack,"",@progbits
