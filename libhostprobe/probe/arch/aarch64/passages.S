// passages.S: the code of the passages (passages.h), HP_PASSAGE_BYTES each.
//
// Room 2 (probe/). A passage is a jump, so the function it leads to finds stack and registers as its caller left them, but x16 and
// x17, which calls between libraries may change. The number of passages, and where the gate says that launches wait, are checked
// in passages.cpp and gate.h. `bti c` is a hint that older CPUs pass over.
#define HP_PASSAGES 640
#define HP_LAUNCHES 28
#define HP_GATE _ZN9hostprobe5probe6g_gateE
#define SAVED 224       // x29, x30, x0 … x8, q0 … q7 and 8 bytes for alignment
        .text
        .globl  hp_passages
        .hidden hp_passages
        .type   hp_passages, %function
        .p2align 6
hp_passages:
        .cfi_startproc
        .set    number, 0
        .rept   HP_PASSAGES
        .p2align 6
        hint    #34                     // bti c
        adrp    x16, HP_GATE+HP_LAUNCHES
        ldr     w16, [x16, #:lo12:HP_GATE+HP_LAUNCHES]
        cbnz    w16, 1f
        adrp    x16, hp_passage_reals+8*number
        ldr     x16, [x16, #:lo12:hp_passage_reals+8*number]
        br      x16
1:      mov     w17, #number
        b       hp_launches_before
        .set    number, number+1
        .endr
        .cfi_endproc
        .size   hp_passages, . - hp_passages

        .type   hp_launches_before, %function
        .p2align 4
hp_launches_before:
        .cfi_startproc
        stp     x29, x30, [sp, #-SAVED]!
        .cfi_adjust_cfa_offset SAVED
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]           // where a large result goes
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w17
        bl      hp_enter_passage
        mov     x16, x0
        ldp     q6, q7, [sp, #192]
        ldp     q4, q5, [sp, #160]
        ldp     q2, q3, [sp, #128]
        ldp     q0, q1, [sp, #96]
        ldr     x8, [sp, #80]
        ldp     x6, x7, [sp, #64]
        ldp     x4, x5, [sp, #48]
        ldp     x2, x3, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #SAVED
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -SAVED
        br      x16
        .cfi_endproc
        .size   hp_launches_before, . - hp_launches_before
        .section .note.GNU-stack,"",%progbits
