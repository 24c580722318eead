"""The emulator that judges the GPU kernel's text: its rounding, and that it does not pass over what PTX leaves open."""

import re
from fractions import Fraction

import emulate
import numpy as np
import ptx_operations
import pytest
from emulate import Fault, Unknown
from kernel_parts import subnormal_numbers  # noqa: F401

HEAD = ".version 7.4\n.target sm_80\n.visible .entry f(\n{parameters}\n)\n{{\n"
OWN = ["mov.u32 %r1, %tid.x;", "mul.wide.u32 %rd9, %r1, 4;"]  # this thread's number and the place of its entry


def play(lines, *arrays, threads=32, shared=0):
    """Execute lines in one block; the parameters x0, x1, ... are in %rd0, %rd1, ..."""
    parameters = ",\n".join(f"  .param .u64 .ptr .global .align 16 x{i}" for i in range(len(arrays)))
    loads = [f"ld.param.u64 %rd{i}, [x{i}];" for i in range(len(arrays))]
    text = "\n".join([HEAD.format(parameters=parameters), *loads, *OWN, *lines, "ret;", "}"])
    if shared:
        text = text.replace(".visible", ".extern .shared .align 16 .b8 kept[];\n.visible")
    emulate.Machine(text, 1, threads, list(arrays), shared).run(10_000)
    return arrays[-1]


def compute(opcode, *operands):
    """An operation on arrays, as the table has it."""
    with np.errstate(all="ignore"):
        return ptx_operations.OPERATIONS[opcode].function(*operands)


def nearest(x):
    """The float32 that is nearest to a fraction; ties go to the even one."""
    low = np.float32(float(x))  # off by an ulp at most
    around = [np.nextafter(low, np.float32(-np.inf)), low, np.nextafter(low, np.float32(np.inf))]
    return min(around, key=lambda y: (abs(Fraction(float(y)) - x), int(y.view(np.int32)) % 2))


def test_a_product_and_a_sum_are_rounded_once():
    r, number = np.random.default_rng(0), 3000
    a, b = (np.ldexp(r.integers(-(2**24), 2**24, number), -24).astype(np.float32) for _ in range(2))
    a = np.ldexp(a, r.integers(-75, 5, number)).astype(np.float32)
    b = np.ldexp(b, r.choice([0, -74], number)).astype(np.float32)
    # A sum that is the product's own rounding but for the last bits, or so much larger that few bits are left.
    c = (-(a * b) * r.choice(np.array([1, 2**20, -(2**24), 2.0**-20], np.float32), number)).astype(np.float32)
    c[::3] = np.ldexp(r.integers(-5, 5, c[::3].size), -149)
    exact = (map(Fraction, each.tolist()) for each in (a, b, c))
    theirs = [nearest(x * y + z) for x, y, z in zip(*exact, strict=True)]
    np.testing.assert_array_equal(compute("fma.rn.f32", a, b, c), theirs)
    # From the middle between two numbers, also of subnormal ones, the last bits of the product decide.
    for a, b, c, theirs in (
        (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-80, 1 + 2.0**-11 + 2.0**-23),
        (1 + 2.0**-23, 1, 2.0**-24, 1 + 2.0**-22),
        (2.0**-75 * (1 + 2.0**-23), 2.0**-75 * (1 - 2.0**-23), 2.0**-127 + 2.0**-149, 2.0**-127 + 2.0**-149),
    ):
        assert compute("fma.rn.f32", *np.float32([[a], [b], [c]])) == np.float32(theirs)


def test_approximations_are_often_off_and_never_by_more_than_the_manual_says():
    x = np.ldexp(np.random.default_rng(0).uniform(1, 2, 10_000), 40).astype(np.float32)
    for name, exact in (("rcp", 1 / x.astype(float)), ("rsqrt", x.astype(float) ** -0.5)):
        found = compute(f"{name}.approx.ftz.f32", x)
        assert np.abs(found / exact - 1).max() < 2.0**-22.9
        assert np.mean(found != exact.astype(np.float32)) > 0.2
    np.testing.assert_array_equal(compute("rcp.approx.ftz.f32", np.float32([1e-40, -0.0])), [np.inf, -np.inf])


def test_integers_and_comparisons_at_their_limits():
    least, most = np.int32(-(2**31)), np.int32(2**31 - 1)
    words = np.array([least, least, 7, -7, 5], np.int32), np.array([-1, 1, -2, 2, 0], np.int32)
    np.testing.assert_array_equal(compute("div.s32", *words)[:4], [least, least, -3, -3])
    np.testing.assert_array_equal(compute("rem.s32", *words)[:4], [0, 0, 1, -1])
    assert compute("div.s32", *words)[4] == np.uint32(ptx_operations.POISON).view(np.int32)
    by = np.array([31, 32, 2**32 - 1], np.uint32)
    np.testing.assert_array_equal(compute("shr.s32", np.full(3, least), by), [-1, -1, -1])
    np.testing.assert_array_equal(compute("shl.b32", np.full(3, 3, np.uint32), by), [2**31, 0, 0])
    ones = np.array([2**32 - 1], np.uint32)
    assert compute("mul.hi.u32", ones, ones) == 2**32 - 2
    assert compute("shf.l.wrap.b32", *(np.array([x], np.uint32) for x in (2**31, 1, 4))) == 24
    x = np.float32([np.nan, 3e9, -3e9, -1.5, 2.5])
    np.testing.assert_array_equal(compute("cvt.rzi.s32.f32", x), [0, most, least, -1, 2])
    np.testing.assert_array_equal(compute("cvt.rzi.u32.f32", x), [0, 3_000_000_000, 0, 0, 2])
    zeros = np.float32([0.0, -0.0, np.nan]), np.float32([-0.0, 0.0, 1.0])
    np.testing.assert_array_equal(np.signbit(compute("min.NaN.f32", *zeros)[:2]), [True, True])
    np.testing.assert_array_equal(np.signbit(compute("max.NaN.f32", *zeros)[:2]), [False, False])
    assert np.isnan(compute("max.NaN.f32", *zeros)[2])
    assert [compute(f"setp.{name}.f32", x[:1], x[:1])[0] for name in ("neu", "gtu", "ge")] == [True, True, False]


def test_threads_that_part_meet_again_and_write_under_their_own_guard():
    out = np.zeros(32, np.int32)
    lines = """
        mov.u32 %r2, %r1;
        $more:
        setp.ge.u32 %p1, %r2, 20;
        @%p1 bra $end;
        add.s32 %r2, %r2, %r1;
        add.s32 %r2, %r2, 1;
        bra $more;
        $end:
        setp.eq.u32 %p2, %r1, 3;
        @!%p2 add.s32 %r2, %r2, 100;
        @%p2 bra $same;
        add.s32 %r2, %r2, 1000;
        $same:
        shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;
        add.s64 %rd10, %rd0, %rd9;
        st.global.u32 [%rd10+0], %r3;
    """
    last = []
    for number in range(32):
        x = number
        while x < 20:
            x += number + 1
        last.append(x + (number != 3) * 1100)
    np.testing.assert_array_equal(play(lines.splitlines(), out), np.reshape(last, (16, 2))[:, ::-1].ravel())


SHARE = """
    shl.b32 %r4, %r1, 2;
    st.shared.u32 [%r4+0], %r1;
    bar.warp.sync -1;
    xor.b32 %r5, %r4, 4;
    ld.shared.u32 %r6, [%r5+0];
    bar.warp.sync -1;
    st.shared.u32 [%r5+0], %r1;
    add.s64 %rd10, %rd0, %rd9;
    st.global.u32 [%rd10+0], %r6;
"""


def test_threads_that_share_memory_need_barriers_between_them():
    np.testing.assert_array_equal(play(SHARE.splitlines(), np.zeros(32, np.int32), shared=128), np.arange(32) ^ 1)
    first, second = (m.start() for m in re.finditer("bar.warp", SHARE))
    with pytest.raises(Fault, match="is read that another thread has written"):
        play((SHARE[:first] + SHARE[first + 17 :]).splitlines(), np.zeros(32, np.int32), shared=128)
    own = SHARE.replace("[%r5+0], %r1", "[%r4+0], %r6")
    with pytest.raises(Fault, match="is written that another thread has used"):
        play((own[:second] + own[second + 17 :]).splitlines(), np.zeros(32, np.int32), shared=128)


TWICE = """
    mov.b32 %r4, 0;
    st.shared.u32 [%r4+0], 5;
    st.shared.u32 [%r4+0], 6;
    bar.warp.sync -1;
    ld.shared.u32 %r6, [%r4+0];
    st.global.u32 [%rd0+0], %r6;
"""


def test_threads_that_all_write_a_word_may_all_write_it_again():
    assert play(TWICE.splitlines(), np.zeros(1, np.int32), shared=128) == 6
    alone = TWICE.replace("st.shared.u32 [%r4+0], 6", "setp.eq.u32 %p1, %r1, 3;\n@%p1 st.shared.u32 [%r4+0], 6")
    with pytest.raises(Fault, match="is written that another thread has used"):
        play(alone.splitlines(), np.zeros(1, np.int32), shared=128)


FAULTS = {
    "outside of an array": "add.s64 %rd10, %rd0, %rd9; st.global.u32 [%rd10+4], %r1;",
    "before an array": "add.s64 %rd10, %rd0, %rd9; add.s64 %rd10, %rd10, -4; ld.global.u32 %r2, [%rd10+0];",
    "between two entries": "add.s64 %rd10, %rd0, %rd9; ld.global.u32 %r2, [%rd10+2];",
    "of a block's shared memory": "ld.shared.f32 %f1, [%r1+128];",
    "one place": "st.global.u32 [%rd0+0], %r1;",
    "threads are missing": "setp.eq.u32 %p1, %r1, 3; @%p1 bra $end; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; $end:",
    "threads are missing at a barrier": "setp.eq.u32 %p1, %r1, 3; @%p1 bar.warp.sync -1;",
    "a constant that is written": "ld.global.nc.u32 %r2, [%rd0+0]; st.global.u32 [%rd0+0], 5;",
    "never ends": "$more: add.s32 %r2, %r1, 1; bra $more;",
    "of a register that was never written": "shl.b32 %r8, %r7, 2; ld.shared.u32 %r2, [%r8+0];",
    "of what others wrote": "setp.eq.u32 %p1, %r1, 3; @%p1 mov.b32 %r7, 0; shl.b32 %r8, %r7, 2; "
    "ld.shared.u32 %r2, [%r8+0];",
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_ptx_leaves_open_is_a_fault(name):
    with pytest.raises(Fault):
        play(re.split(r"(?<=[;:]) ", FAULTS[name]), np.zeros(32, np.int32), shared=128)


@pytest.mark.parametrize("line", ["add.f32 %f1, %f2, %f3;", "mad.rn.f32 %f1, %f2, %f3, %f4;", "add.s32 %r1, %r2;", "?"])
def test_an_instruction_that_is_not_known_is_an_error(line):
    with pytest.raises(Unknown):
        play([line])
