"""Rules of compiled shaders: capabilities, barriers, atomics, bindings."""
import re
import struct

CAPABILITIES = {1: 'Shader', 46: 'SampledBuffer', 61: 'GroupNonUniform', 63: 'GroupNonUniformArithmetic',
                4433: 'StorageBuffer16BitAccess', 4434: 'UniformAndStorageBuffer16BitAccess'}
FLOOR = {1}
FULL = {1, 46, 61, 63, 4433, 4434}
NO_FLOAT_ATOMICS = {6035: 'OpAtomicFAddEXT', 5614: 'OpAtomicFMinEXT', 5615: 'OpAtomicFMaxEXT'}
CAPABILITY, CONSTANT, BARRIER, IS_NAN, IS_INF = 17, 43, 224, 156, 157
WORKGROUP = 2


def modules(text):
    """(name, bytes) of each array of words in a header that glslangValidator wrote."""
    for match in re.finditer(r'(am_spirv_\w+)\[\] = \{(.*?)\};', text, re.S):
        words = [int(w, 16) for w in re.findall(r'0x[0-9a-fA-F]+', match.group(2))]
        yield match.group(1), struct.pack('<%dI' % len(words), *words)


def check(name, data):
    words = struct.unpack('<%dI' % (len(data) // 4), data)
    allowed = FULL if name.endswith('_full') else FLOOR
    constants, at = {}, 5
    while at < len(words):
        length, code = words[at] >> 16, words[at] & 0xffff
        operands = words[at + 1:at + length]
        if code == CAPABILITY and operands[0] not in allowed:
            yield 'capability', 'capability %s' % CAPABILITIES.get(operands[0], operands[0])
        elif code == CONSTANT:
            constants[operands[1]] = operands[2]
        elif code == BARRIER and constants.get(operands[0]) != WORKGROUP:
            yield 'barrier-scope', 'a barrier that is not one of the group'
        elif code in (IS_NAN, IS_INF):
            yield 'classify', 'OpIsNan or OpIsInf may be folded away'
        elif code in NO_FLOAT_ATOMICS:
            yield 'float-atomic', NO_FLOAT_ATOMICS[code]
        at += max(length, 1)
