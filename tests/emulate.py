"""Executes the text of a GPU kernel with NumPy, all threads at once, so that its numbers can be tested without a GPU.

What PTX leaves undefined leaves POISON or raises a Fault: what was never written, a place outside of an array, one
place for several threads without a barrier, an exchange from which threads of a warp are missing. An instruction that
the emulator does not know raises Unknown.
"""

import functools
import re

import numpy as np
from ptx_operations import OPERATIONS, POISON, WARP

TYPES = {"f32": np.float32, "s32": np.int32, "u32": np.uint32, "b32": np.uint32, "u8": np.uint8, "pred": np.bool_}
TYPES |= {"s64": np.int64, "u64": np.uint64, "b64": np.uint64}
CLASSES = {"%f": np.float32, "%r": np.uint32, "%rd": np.uint64, "%p": np.bool_}
INSTRUCTION = re.compile(r"(?:@(!?)(%p\d+)\s+)?([A-Za-z0-9_.]+)\s*(.*);")
PLACE = re.compile(r"\[(%rd?\d+)(?:\+(\d+))?\]")
MEMORY = re.compile(r"(ld|st)\.(global|global\.nc|shared)\.(u8|f32|s32|u32)")
PARAMETER = 40  # an address has the number of its array, counted from 1, from this bit on
MANY = -2  # several threads


class Fault(Exception):
    """The kernel does what PTX leaves undefined."""


class Unknown(Exception):
    """The text has an instruction that the emulator does not know."""


class Shared:
    """Shared memory of all blocks, and which thread touched each word since the last barrier of its warp."""

    def __init__(self, threads, block, size):
        self.size, self.start = size, threads // block * size
        words = (threads[-1] // block + 1) * size // 4
        self.bytes = np.full(words, POISON, np.uint32).view(np.uint8)
        self.turn = np.zeros(threads.size, np.int64)  # barriers that a thread has passed
        self.reader, self.writer, self.number = np.full((3, words), -1)  # and how many threads wrote it at once
        self.read, self.written = np.full((2, words), -1)  # in which turn

    def check_load(self, word, thread):
        turn = self.turn[thread]
        if np.any((self.written[word] == turn) & (self.writer[word] != thread)):
            raise Fault("a word of shared memory is read that another thread has written since the last barrier")
        alone = (self.read[word] != turn) | (self.reader[word] == thread)
        self.reader[word] = thread
        self.reader[word[~alone | (self.reader[word] != thread)]] = MANY
        self.read[word] = turn

    def check_store(self, word, thread, old, new):
        turn, change = self.turn[thread], old.view(np.uint32) != new.view(np.uint32)
        before, self.writer[word] = self.writer[word], thread
        number = np.bincount(word, minlength=self.writer.size)[word]
        # Threads that all wrote a word may all write it again: whatever their order is, the second number remains.
        same = (before == self.writer[word]) & (self.number[word] == number)
        theirs = (self.read[word] == turn) & (self.reader[word] != thread)
        theirs |= (self.written[word] == turn) & (before != thread) & ~same
        if np.any(change & theirs):
            raise Fault("a word of shared memory is written that another thread has used since the last barrier")
        self.number[word], self.written[word] = number, turn


class Machine:
    """A kernel, its threads, and the arrays behind its parameters, which it writes in place."""

    def __init__(self, text, blocks, block, arrays, shared_bytes=0):
        head, _, body = text.partition("{")
        names = re.findall(r"\.param \S.* (\w+)", head)
        if len(names) != len(arrays):
            raise Fault(f"{len(names)} parameters for {len(arrays)} arrays")
        self.parameters = {name: number for number, name in enumerate(names, 1)}
        self.arrays = [x.reshape(-1).view(np.uint8) for x in arrays]
        if not all(np.shares_memory(x, y) for x, y in zip(arrays, self.arrays, strict=True) if x.size):
            raise ValueError("arrays: not contiguous")
        self.number = blocks * block
        threads = self.threads = np.arange(self.number, dtype=np.uint32)
        self.shared = Shared(threads.astype(np.int64), block, shared_bytes)
        self.special = {"%tid.x": threads % block, "%ctaid.x": threads // block}
        self.special |= dict.fromkeys(re.findall(r"\.extern \.shared .* (\w+)\[\];", head), 0 * threads)
        self.registers, self.labels, self.executed, self.uses = {}, {}, 0, set()
        code = []
        for line in map(str.strip, body.rpartition("}")[0].splitlines()):
            if line.endswith(":"):
                self.labels[line[:-1]] = len(code)
            elif line and not line.startswith((".reg ", ".pragma ")):
                code.append(line)
        self.end = len(code)
        self.code = [self._instruction(line) for line in code]

    def run(self, most=10**7):
        """Play to the end, always the threads that are furthest behind; a Fault after so many instructions."""
        at, end = np.zeros(self.number, np.int64), self.end
        with np.errstate(all="ignore"):
            while (place := int(at.min(initial=end))) < end:
                here = at == place
                at[here] = self._stretch(place, here, int(at.min(where=~here, initial=end)))
                if self.executed > most:
                    raise Fault(f"no end after {most} instructions")
        return self

    def _stretch(self, place, here, stop):
        """Execute up to a branch or up to where others wait; return where each thread that is here goes."""
        here_or_all = None if here.all() else here
        while place < stop:
            guard, negated, action, target = self.code[place]
            place, mask = place + 1, here_or_all
            self.executed += 1
            if guard is not None:
                on = self.registers[guard] != negated
                mask = on if mask is None else on & mask
            if action is not None:
                action(mask)
            elif mask is None:
                return target
            else:
                return np.where(mask, target, place)[here]
        return place

    def _instruction(self, line):
        """Guard, whether it is negated, what is done under a mask of threads (None: all), and where a branch leads."""
        if (parts := INSTRUCTION.fullmatch(line)) is None:
            raise Unknown(line)
        negated, guard, opcode, rest = parts.groups()
        operands = rest.split(", ") if rest else []
        action, target = None, None
        if opcode in ("bra", "ret"):
            target = self.labels[rest] if opcode == "bra" else self.end
        elif memory := MEMORY.fullmatch(opcode):
            action = self._access(*memory.groups(), *operands)
        elif opcode == "ld.param.u64":
            address = np.full(self.number, self.parameters[operands[1].strip("[]")] << PARAMETER, np.uint64)
            action = functools.partial(self._writer(operands[0], "u64"), address)
        elif opcode == "bar.warp.sync":
            action = self._barrier
        elif opcode in OPERATIONS and len(operands) == 1 + len(OPERATIONS[opcode].operands):
            action = self._computation(opcode, *operands)
        else:
            raise Unknown(line)
        return guard, bool(negated), action, target

    def _reader(self, text, type):
        """Function that returns an operand's values in all threads."""
        registers, type = self.registers, TYPES[type]
        kind = CLASSES.get(text.rstrip("0123456789"))
        if kind is not None:
            self._declare(text, kind)
            return (lambda: registers[text]) if kind is type else (lambda: registers[text].view(type))
        if text in self.special:
            value = self.special[text]
        elif text.startswith("0f"):
            value = np.full(self.number, int(text[2:], 16), np.uint32).view(type)
        else:
            value = np.full(self.number, int(text) % 2**64, np.uint64).astype(type)
        return lambda: value

    def _writer(self, text, type):
        """Function of a value and a mask, which writes a register."""
        registers, kind = self.registers, CLASSES[text.rstrip("0123456789")]
        self._declare(text, kind)
        same = TYPES[type] is kind

        def write(value, mask):
            value = value if same else value.view(kind)
            registers[text] = value if mask is None else np.where(mask, value, registers[text])

        return write

    def _declare(self, text, kind):
        poison = np.full(2 * self.number, POISON, np.uint32)
        if text not in self.registers:
            self.registers[text] = self.threads % 3 == 0 if kind is np.bool_ else poison.view(kind)[: self.number]

    def _computation(self, opcode, out, *operands):
        operation, together = OPERATIONS[opcode], opcode.startswith("shfl.sync")
        reads = [self._reader(*pair) for pair in zip(operands, operation.operands, strict=True)]
        write = self._writer(out, operation.result)

        def compute(mask):
            if together:
                self._meet(mask)
            write(operation.function(*[read() for read in reads]), mask)

        return compute

    def _meet(self, mask):
        """Raise a Fault if some threads of a warp are missing."""
        if mask is not None:
            warps = np.resize(mask, (-(-self.number // WARP), WARP))
            if np.any(warps.any(1) != warps.all(1)):
                raise Fault("threads of a warp are missing at an exchange or a barrier")

    def _barrier(self, mask):
        self._meet(mask)
        self.shared.turn[slice(None) if mask is None else mask] += 1

    def _mark(self, memory, use):
        """Raise a Fault if an array is written that is also read as one that nobody writes."""
        self.uses.add((memory.ctypes.data, use))
        if all((memory.ctypes.data, each) in self.uses for each in ("global.nc", "st")):
            raise Fault("an array that is read as a constant is written")

    def _access(self, way, space, type, *operands):
        """Load or store."""
        shared, dtype = space == "shared", np.dtype(TYPES[type])
        register, place = operands if way == "ld" else operands[::-1]
        base, offset = PLACE.fullmatch(place).groups()
        address, offset = self._reader(base, "u32" if shared else "u64"), int(offset or 0)
        held = "u32" if type == "u8" else type
        value, write = self._reader(register, held), self._writer(register, held) if way == "ld" else None

        def access(mask):
            thread = self.threads if mask is None else np.flatnonzero(mask)
            if thread.size == 0:
                return
            at = address()[thread].astype(np.int64) + offset
            if shared:
                memory, size, first = self.shared.bytes, self.shared.size, self.shared.start[thread]
            else:
                number = at >> PARAMETER
                if np.any(number != number[0]) or not 0 < number[0] <= len(self.arrays):
                    raise Fault("an address outside of the arrays")
                memory, at, first = self.arrays[number[0] - 1], at & (1 << PARAMETER) - 1, 0
                size = memory.size
            if np.any((at % dtype.itemsize != 0) | (at < 0) | (at + dtype.itemsize > size)):
                raise Fault("an address outside of an array, or between two entries")
            if not shared:
                self._mark(memory, space if way == "ld" else way)
            memory, word = memory.view(dtype), (at + first) // dtype.itemsize
            if way == "ld":
                if shared:
                    self.shared.check_load(word, thread)
                found = np.zeros(self.number, dtype)
                found[thread] = memory[word]
                write(found.astype(TYPES[held]), mask)
                return
            new = value()[thread].astype(dtype)
            if shared:
                self.shared.check_store(word, thread, memory[word], new)
            memory[word] = new
            if memory[word].tobytes() != new.tobytes():
                raise Fault("threads store different numbers in one place")

        return access
