"""Rules that words alone can break, on files as they are written."""
import re

from source import TYPES, is_name, tokens

PATHS = re.compile(r'(?<![\w.])/(?:root|home|work|Users)/|[A-Z]:\\\\Users')
FAST_MATH = re.compile(r'-cl-(?:fast-relaxed-math|finite-math-only|unsafe-math-optimizations|mad-enable|'
                       r'no-signed-zeros)')
NATIVE = re.compile(r'(?:native|half)_(?:cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|'
                    r'tan)$')
CLASSIFY = {'isnan', 'isinf', 'isfinite', 'isnormal', 'fmin', 'fmax'}
INFINITE = {'AM_INF', 'INFINITY', 'HUGE_VALF'}
# Atomics on integers whose result does not depend on the order.
EXACT = re.compile(r'atomic(?:_(?:or|and|xor|min|max)|(?:Or|And|Xor|Min|Max))$')
COUNTING = re.compile(r'atomic(?:_(?:add|sub|inc|dec)|Add)$')
SIZES = {'gl_NumSubgroups', 'gl_WorkGroupSize', 'get_local_size', 'get_num_sub_groups', 'AM_GROUP', 'AM_ITEMS'}
MACROS = {'AM_GROUP'}  # in OpenCL C the name of a form
LIMIT_NAMES = re.compile(r'max[A-Z]\w+$|(?:group_items|local_bytes|compute_units|subgroup_(?:size|min|max))$')
HEAD = (('what is computed', r'=|\bmaths\b|\bprogram\b'), ('what a group or an item does', r'\b(group|item)'),
        ('the bytes that it moves', r'\b(bytes|[Mm]oves|reads)\b'),
        ('its memory of the group', r'(?i)\b(local|shared) memory'),
        ('its registers', r'\b[Rr]egisters?\b'))


def arithmetic(before, after):
    """Whether what stands between these tokens is a factor or a term."""
    return before in ('*', '/', '+') or after in ('*', '/', '+', '-')


def infinity(t):
    for i, token in enumerate(t):
        if token not in INFINITE or i and t[i - 1] in ('define', 'ifdef', 'undef'):
            continue
        start, end = i, i + 1
        while True:
            if start >= 3 and t[start - 3] == 'define':
                break
            if start >= 1 and t[start - 1] == '-' and (start < 2 or not (
                    is_name(t[start - 2]) or t[start - 2] in (')', ']') or t[start - 2][0].isdigit())):
                start -= 1
            elif start >= 1 and t[start - 1] == '(' and end < len(t) and t[end] == ')':
                start, end = start - 1, end + 1
                if start >= 1 and re.match(r'(?:ROW)?LIT$', t[start - 1]):
                    start -= 1
            elif start >= 1 and t[start - 1] == ')' and start >= 3 and t[start - 3] == '(' and \
                    (TYPES.match(t[start - 2]) or t[start - 2] in ('real', 'rowf')):
                start -= 3  # a cast
            else:
                break
        before, after = t[start - 1] if start else '', t[end] if end < len(t) else ''
        if start >= 3 and t[start - 3] == 'define':
            before = ''
        if before == '-' or arithmetic(before, after):
            yield 'infinity', 'arithmetic with an infinity: ' + ' '.join(t[max(0, start - 3):end + 3])


def kernel_words(text, language):
    t = tokens(re.sub(r'(?m)^[ \t]*#[ \t]*(?=define|if|elif|pragma|extension)', ' ', text))
    yield from infinity(t)
    for i, token in enumerate(t):
        before, after = t[i - 1] if i else '', t[i + 1] if i + 1 < len(t) else ''
        called = after == '('
        if called and (NATIVE.match(token) or token in ('native_divide', 'fast_length')):
            yield 'native', '%s is as exact as the driver likes' % token
        elif called and token in CLASSIFY:
            yield 'classify', '%s may be folded away or drop NaN: compare bits, or select' % token
        elif token in ('gl_SubgroupSize', 'get_sub_group_size', 'get_max_sub_group_size'):
            yield 'subgroup-size', '%s: nothing may rest on the size of a sub-group' % token
        elif token in ('mediump', 'lowp'):
            yield 'precision', '%s leaves the precision to the driver' % token
        elif re.match(r'GL_EXT_shader_atomic_float', token):
            yield 'float-atomic', '%s: the order of additions changes the sum' % token
        elif called and re.match(r'atom(?:ic)?(?:_|[A-Z])', token):
            yield from atomic(t, i)
        elif token in ('==', '!='):
            yield from equality(t, i, language)
        elif language == 'cl' and (token == 'double' or re.match(r'(?:\d+\.\d*|\.\d+|\d+\.?\d*[eE])', token)
                                   and not re.match(r'0[xX]', token) and token[-1] not in 'fFhH'):
            yield 'double', '%s is a double' % token
        elif language == 'cl' and token == 'void' and (before in ('__kernel', 'kernel')):
            yield 'group-size', 'a kernel without reqd_work_group_size'


def atomic(t, i):
    name = t[i]
    if EXACT.match(name):
        return
    if COUNTING.match(name) and (i == 0 or t[i - 1] in (';', '{', '}', ')', 'else')):
        return
    yield 'float-atomic', '%s: only or, and, xor, min, max of integers are the same in every order; counts ' \
                          'may be added to, but not read on the way' % name


def equality(t, i, language):
    sides = [t[i - 1] if i else '', t[i + 1] if i + 1 < len(t) else '']
    if sides[0] in (')', ']'):
        depth, j = 0, i - 1
        while j >= 0:
            depth += (t[j] in (')', ']')) - (t[j] in ('(', '['))
            if depth == 0:
                break
            j -= 1
        sides[0] = t[j - 1] if j else ''
    if sides[0] in ('x', 'y', 'z') and i > 2 and t[i - 2] == '.':
        sides[0] = t[i - 3]
    for side in sides:
        if side in SIZES and (side not in MACROS or language == 'glsl'):
            yield 'limit-equality', '%s compared for equality: drivers change what they report' % side


def unroll(text):
    """A pragma that not every compiler knows stands under a test for those that do."""
    around = []
    for line in text.split('\n'):
        word = re.match(r'\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b(.*)', line)
        if word and word.group(1) in ('if', 'ifdef', 'ifndef'):
            around.append(word.group(2))
        elif word and word.group(1) in ('elif', 'else'):
            around[-1] += word.group(2)
            if word.group(1) == 'elif':
                around[-1] = word.group(2)
        elif word:
            around.pop()
        elif re.search(r'#\s*pragma\s+unroll|_Pragma\("unroll', line):
            if not any(re.search(r'__clang__|cl_nv_pragma_unroll|__GNUC__', a) for a in around):
                yield 'unroll', 'the pragma unroll without a test for a compiler that knows it'


def head(text, is_kernel):
    comment = re.match(r'\s*/\*(.*?)\*/', text, re.S)
    if not comment:
        yield 'head', 'a file begins with a comment that says what it is'
    elif is_kernel:
        for what, pattern in HEAD:
            if not re.search(pattern, comment.group(1)):
                yield 'head', 'the head of a kernel tells ' + what


def kernel_file(text, name):
    """Findings of a file of cl/ or shaders/, as (rule, text)."""
    language = 'cl' if name.endswith('.cl') else 'glsl'
    is_kernel = '__kernel' in text if language == 'cl' else name.endswith('.comp')
    yield from head(text, is_kernel)
    yield from kernel_words(text, language)
    yield from unroll(text)


def host_file(text, limits):
    """A file of runtime/: limits are names of struct members that hold a device's limits."""
    if FAST_MATH.search(text):
        yield 'fast-math', FAST_MATH.search(text).group()
    t = tokens(text)
    for i, token in enumerate(t):
        if token not in ('==', '!=') or i < 2 or i + 1 >= len(t):
            continue
        left = t[i - 1] if t[i - 2] in ('.', '->') else ''
        right = next((t[j + 1] for j in range(i + 1, min(i + 8, len(t) - 1))
                      if t[j] in ('.', '->') and all(is_name(x) or x in ('.', '->') for x in t[i + 1:j])), '')
        other = {left: t[i + 1], right: t[i - 1]}
        for side in (left, right):
            if (side in limits or LIMIT_NAMES.match(side)) and side and not re.match(
                    r'0$|0u$|UINT(?:32|64)_MAX$', other[side]):
                yield 'limit-equality', '%s compared with %s for equality' % (side, other[side])


def limits_of(text):
    """Members of struct am_limits."""
    body = re.search(r'typedef struct am_limits \{(.*?)\n\} am_limits;', text, re.S)
    t = tokens(body.group(1)) if body else []
    return {t[i - 1] for i, token in enumerate(t) if token == ';'} - {'host_memory'}


def any_file(text):
    found = PATHS.search(text)
    if found:
        yield 'path', 'a path of one machine: ' + text[found.start():found.start() + 40].split('\n')[0]
