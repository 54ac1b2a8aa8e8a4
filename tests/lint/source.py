"""OpenCL C and GLSL, after the preprocessor, as functions and statements: as much of a parser as the
rules of flow.py need. Expressions stay lists of tokens."""
import re

TOKEN = re.compile(r'''
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<unroll>\#\s*pragma\s+unroll[^\n]*)
  | (?P<line>\#[^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>(?:0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*(?:[pP][+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfFhH]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|.)
''', re.X | re.S)

QUALIFIERS = {
    'const', 'volatile', 'restrict', 'static', 'inline', 'precise', 'highp', 'in', 'out', 'inout',
    'coherent', 'readonly', 'writeonly', 'shared', 'uniform', '__global', '__local', '__private',
    '__constant', 'global', 'local', 'private', 'constant', 'unsigned', 'signed', 'struct'}
TYPES = re.compile(r'(void|bool|half|size_t|ptrdiff_t|(u?(char|short|int|long)|float|double)(2|3|4|8|16)?|'
                   r'u?int(8|16|32|64)_t|float(16|32)_t|[uib]?vec[234]|mat[234]|am_\w+(?<!_\d))$')
ASSIGN = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
OPEN, CLOSE = {'(': ')', '[': ']', '{': '}'}, {')', ']', '}'}


def tokens(text):
    out = []
    for match in TOKEN.finditer(text.replace('\\\n', ' ')):
        kind = match.lastgroup
        if kind == 'unroll':
            out.append('#unroll')
        elif kind not in ('skip', 'line'):
            out.append(match.group())
    return out


def is_name(token):
    return bool(re.match(r'[A-Za-z_]', token))


def closing(tokens_, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens_)):
        if tokens_[i] in OPEN:
            depth += 1
        elif tokens_[i] in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    raise SyntaxError('bracket without an end near: ' + ' '.join(tokens_[at:at + 12]))


def split(tokens_, mark=','):
    """The parts between marks that are in no bracket."""
    parts, start, depth = [], 0, 0
    for i, token in enumerate(tokens_):
        if token in OPEN:
            depth += 1
        elif token in CLOSE:
            depth -= 1
        elif token == mark and depth == 0:
            parts.append(tokens_[start:i])
            start = i + 1
    return parts + [tokens_[start:]]


BARRIERS = {'barrier', 'work_group_barrier', 'subgroupBarrier', 'controlBarrier', 'sub_group_barrier'}


def is_together(token):
    """Whether all items of a group have to come here together."""
    return token in BARRIERS or (token.startswith(('subgroup', 'sub_group_', 'work_group_')) and
                                 token not in ('subgroupElect', 'subgroupMemoryBarrier'))


class Node:
    """kind: block, if, for, while, do, switch, jump, expr. `cond`, `init`, `step`, `tokens` are tokens;
    `body`, `other` are nodes; a block has `items`."""

    def __init__(self, kind, **fields):
        self.kind = kind
        self.tokens, self.cond, self.init, self.step = [], [], [], []
        self.body = self.other = None
        self.items = []
        self.unroll = False
        self.__dict__.update(fields)

    def children(self):
        return self.items + [n for n in (self.body, self.other) if n]


class Function:
    def __init__(self, name, head, parameters, body):
        self.name, self.head, self.parameters, self.body = name, head, parameters, body
        self.is_kernel = '__kernel' in head or 'kernel' in head or name == 'main'


class Unit:
    """What a translation unit declares. functions by name; shared: arrays of the group; buffers: memory of
    the device; constants: names that are the same in every launch of a pipeline; arguments: uniform
    blocks; types: names of types."""

    def __init__(self, text):
        self.tokens = tokens(text)
        self.functions, self.shared, self.buffers = {}, set(), set()
        self.constants, self.arguments, self.types = set(), set(), set()
        self.parse()

    def parse(self):
        at = 0
        while at < len(self.tokens):
            if self.tokens[at] in (';', '#unroll'):
                at += 1
                continue
            end = at
            while end < len(self.tokens) and self.tokens[end] not in (';', '{'):
                end = closing(self.tokens, end) + 1 if self.tokens[end] in '([' else end + 1
            head = self.tokens[at:end]
            if end < len(self.tokens) and self.tokens[end] == '{':
                stop = closing(self.tokens, end)
                if self.is_function(head):
                    self.add_function(head, self.tokens[end + 1:stop])
                    at = stop + 1
                    continue
                inside = self.tokens[end + 1:stop]
                end = stop + 1
                while end < len(self.tokens) and self.tokens[end] != ';':
                    end += 1
                self.declare(head, inside, self.tokens[stop + 1:end])
            else:
                self.declare(head, None, [])
            at = end + 1

    @staticmethod
    def is_function(head):
        return ')' in head and '=' not in head and not {'struct', 'union', 'enum'} & set(head[:2]) and \
            not ({'uniform', 'buffer'} & set(head))

    def add_function(self, head, inside):
        open_ = name = None
        i = 0
        while i < len(head):
            if head[i] == '(':
                if is_name(head[i - 1]) and head[i - 1] not in ('__attribute__', 'layout'):
                    open_, name = i, head[i - 1]
                i = closing(head, i)
            i += 1
        parameters = []
        for part in split(head[open_ + 1:closing(head, open_)]):
            names = [t for t in part if is_name(t)]
            if names and names != ['void']:
                parameters.append((names[-1], part))
        body = Parser(inside).block()
        self.functions[name] = Function(name, head, parameters, body)

    def declare(self, head, inside, behind):
        if inside is not None and 'enum' in head:
            self.constants.update(part[0] for part in split(inside) if part)
        elif 'uniform' in head and inside is not None:
            self.arguments.update(t for t in behind if is_name(t))
        elif 'buffer' in head and inside is not None:
            self.buffers.update([t for t in behind if is_name(t)][:1] or
                                [part[-3] for part in split(inside, ';') if len(part) > 3])
        elif head[:1] == ['typedef']:
            self.types.update((behind or head)[-1:])
        elif 'shared' in head or '__local' in head:
            self.shared.update(part[i - 1] for part in split(head) for i, t in enumerate(part)
                               if t == '[' and is_name(part[i - 1]))
        elif 'const' in head and '=' in head:
            for part in split(head):
                left = split(part, '=')[0]
                if is_name(left[-1]):
                    self.constants.add(left[-1])


class Parser:
    """Statements of a function's body."""

    def __init__(self, tokens_):
        self.t, self.at = tokens_, 0

    def peek(self):
        return self.t[self.at] if self.at < len(self.t) else None

    def group(self):
        """Tokens inside the brackets that open here."""
        end = closing(self.t, self.at)
        inside = self.t[self.at + 1:end]
        self.at = end + 1
        return inside

    def until(self, mark):
        start, depth = self.at, 0
        while self.t[self.at] != mark or depth:
            depth += (self.t[self.at] in OPEN) - (self.t[self.at] in CLOSE)
            self.at += 1
        self.at += 1
        return self.t[start:self.at - 1]

    def block(self):
        items = []
        while self.at < len(self.t):
            items.append(self.statement())
        return Node('block', items=items)

    def statement(self):
        unroll = False
        while True:
            if self.peek() == '#unroll':
                unroll = True
                self.at += 1
            elif self.t[self.at:self.at + 2] == ['[', '[']:
                unroll = unroll or 'unroll' in self.group()
            else:
                break
        word = self.peek()
        if word == '{':
            return Parser(self.group()).block()
        if word == 'enum' and '{' in self.t[self.at:self.at + 3]:
            self.at += 1
            names = [part[0] for part in split(self.group()) if part]
            self.until(';')
            return Node('enum', tokens=names)
        if word in ('if', 'while', 'switch', 'for', 'do', 'return', 'break', 'continue', 'discard', 'goto'):
            self.at += 1
            return getattr(self, 'do_' + ('jump' if word in (
                'return', 'break', 'continue', 'discard', 'goto') else word))(word, unroll)
        return Node('expr', tokens=self.until(';'))

    def do_if(self, _, __):
        cond = self.group()
        body, other = self.statement(), None
        if self.peek() == 'else':
            self.at += 1
            other = self.statement()
        return Node('if', cond=cond, body=body, other=other)

    def do_while(self, _, unroll):
        return Node('while', cond=self.group(), body=self.statement(), unroll=unroll)

    def do_switch(self, _, __):
        return Node('switch', cond=self.group(), body=self.statement())

    def do_for(self, _, unroll):
        init, cond, step = split(self.group(), ';')
        return Node('for', init=init, cond=cond, step=step, body=self.statement(), unroll=unroll)

    def do_do(self, _, unroll):
        body = self.statement()
        self.at += 1
        cond = self.group()
        self.at += 1
        return Node('do', cond=cond, body=body, unroll=unroll)

    def do_jump(self, word, _):
        return Node('jump', tokens=[word] + self.until(';'))


def in_order(node, in_meeting):
    """Statements as (tokens, whether a loop around them has a barrier)."""
    if node.kind in ('expr', 'jump'):
        yield node.tokens, in_meeting
    loop = node.kind in ('for', 'while', 'do')
    inner = in_meeting or loop and any(is_together(t) for t in all_tokens(node.body))
    if node.kind != 'do':
        yield node.init + node.cond + node.step, in_meeting
    for child in node.children():
        yield from in_order(child, inner)
    if node.kind == 'do':
        yield node.cond, in_meeting


def all_tokens(node):
    yield from node.tokens + node.init + node.cond + node.step
    for child in node.children():
        yield from all_tokens(child)
