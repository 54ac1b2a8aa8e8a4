"""Rules of control flow, on the units of source.py. shared.py has those of shared memory.

Each value has a level: CONSTANT in a pipeline, the same in a whole LAUNCH (arguments), the same in a
GROUP, or an ITEM's own. What is read from memory is an ITEM's own, whatever its address. A variable has
the highest level of what is ever assigned to it, and of the conditions around."""
from shared import SharedMemory
from source import (ASSIGN, BARRIERS, CLOSE, OPEN, QUALIFIERS, TYPES, all_tokens, closing, in_order,
                    is_name, is_together, split)

CONSTANT, LAUNCH, GROUP, ITEM = range(4)
LEVELS = ('constant', 'from the arguments', 'the same in a group', "an item's own")
BUILT_IN = {
    'get_group_id': GROUP, 'gl_WorkGroupID': GROUP, 'gl_NumSubgroups': GROUP,
    'get_num_groups': LAUNCH, 'get_local_size': LAUNCH, 'get_global_size': LAUNCH,
    'gl_NumWorkGroups': LAUNCH, 'gl_WorkGroupSize': CONSTANT,
    'get_local_id': ITEM, 'get_global_id': ITEM, 'gl_LocalInvocationID': ITEM,
    'gl_LocalInvocationIndex': ITEM, 'gl_GlobalInvocationID': ITEM, 'gl_SubgroupID': ITEM,
    'gl_SubgroupInvocationID': ITEM, 'gl_SubgroupSize': GROUP}
LOCAL_ID = ('get_local_id', 'gl_LocalInvocationID', 'gl_LocalInvocationIndex')


class Variable:
    def __init__(self, name, level=CONSTANT, memory=False):
        self.name, self.level, self.memory, self.is_local_id = name, level, memory, False


class Checker:
    """Findings of one unit as (rule, function, text)."""

    def __init__(self, unit):
        self.unit, self.findings, self.changed = unit, [], False
        self.variables = {}  # by node and name, so that they survive the rounds
        self.scopes, self.results = [], {name: CONSTANT for name in unit.functions}
        self.parameters = {}
        self.together = self.closure(is_together)
        self.sharing = self.closure(lambda t: t in BARRIERS or t in unit.shared)

    def closure(self, wanted):
        """Functions in which such a token occurs, or in what they call."""
        found = set()
        while True:
            more = {name for name, f in self.unit.functions.items()
                    if any(wanted(t) or t in found for t in all_tokens(f.body))}
            if more == found:
                return found
            found = more

    def report(self, rule, text):
        if (rule, self.function.name, text) not in self.findings:
            self.findings.append((rule, self.function.name, text))

    def check(self):
        for function in self.unit.functions.values():
            self.parameters[function.name] = [
                Variable(name, self.parameter_level(function, part), memory='*' in part)
                for name, part in function.parameters]
        while True:
            self.changed = False
            for self.function in self.unit.functions.values():
                self.walk_function(None)
            if not self.changed:
                break
        for self.function in self.unit.functions.values():
            self.walk_function(Placement(self))
            self.check_returns()
            if self.function.is_kernel and not self.is_single():
                SharedMemory(self).walk(self.function.body, {})
        return self.findings

    @staticmethod
    def parameter_level(function, part):
        if not function.is_kernel:
            return CONSTANT  # raised by its calls
        return ITEM if '*' in part else LAUNCH

    def is_single(self):
        """A group of one item needs no barriers."""
        head = ' '.join(self.function.head)
        return 'reqd_work_group_size ( 1 , 1 , 1 )' in head

    # ---- names

    def bind(self, key, name, **fields):
        variable = self.variables.get((key, name))
        if variable is None:
            variable = self.variables[key, name] = Variable(name, **fields)
        self.scopes[-1][name] = variable

    def find(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def raise_to(self, variable, level):
        if variable and variable.level < level:
            variable.level = level
            self.changed = True

    # ---- levels

    def level(self, tokens):
        found = CONSTANT
        for i, token in enumerate(tokens):
            if not is_name(token) or (i and tokens[i - 1] in ('.', '->')):
                continue
            behind = tokens[i + 1] if i + 1 < len(tokens) else ''
            found = max(found, self.name_level(token, behind))
        return found

    def name_level(self, token, behind):
        variable = self.find(token)
        if variable:
            if variable.memory and behind in ('[', '->'):
                return ITEM
            return variable.level
        if token in BUILT_IN:
            return BUILT_IN[token]
        if token in self.unit.arguments:
            return LAUNCH
        if token in self.unit.shared or token in self.unit.buffers:
            return ITEM
        if token in self.results and behind == '(':
            return self.results[token]
        if token in self.unit.constants or behind == '(' and not token.startswith('atomic'):
            return ITEM if is_together(token) else CONSTANT
        if TYPES.match(token) or token in QUALIFIERS or token in self.unit.types or token.isupper() or \
                token in ('true', 'false', 'return', 'else'):
            return CONSTANT
        return ITEM  # atomics, and whatever this file does not know

    # ---- walking

    def walk_function(self, placement):
        self.placement = placement
        self.scopes = [{v.name: v for v in self.parameters[self.function.name]}]
        self.walk(self.function.body, CONSTANT, [])

    def walk(self, node, around, loops):
        """around: the level of the conditions around; loops and ifs around, outermost first."""
        self.scopes.append({})
        if node.kind == 'block':
            for item in node.items:
                self.walk_inside(item, around, loops)
        else:
            self.walk_inside(node, around, loops)
        self.scopes.pop()

    def walk_inside(self, node, around, loops):
        if node.kind == 'block':
            self.walk(node, around, loops)
        elif node.kind == 'enum':
            for name in node.tokens:
                self.bind(id(node), name)
        elif node.kind == 'expr':
            self.statement(node, node.tokens, around, loops)
        elif node.kind == 'jump':
            self.jump(node, around, loops)
        else:
            self.control(node, around, loops)

    def control(self, node, around, loops):
        self.scopes.append({})
        if node.init:
            self.statement(node, node.init, around, loops)
        inner = max(around, self.level(node.cond))
        for part in (node.cond, node.step):
            self.statement(node, part, inner, loops + [node])
        for child in node.children():
            self.walk(child, inner, loops + [node])
        if self.placement:
            self.placement.control(node, self.level(node.cond))
        self.scopes.pop()

    def jump(self, node, around, loops):
        if node.tokens[0] == 'return':
            level = max(around, self.level(node.tokens[1:]))
            if self.results[self.function.name] < level:
                self.results[self.function.name] = level
                self.changed = True
            self.calls(node.tokens[1:], around)
        if self.placement:
            self.placement.jump(node, around, loops)

    def statement(self, node, tokens, around, loops):
        self.declare(node, tokens)
        self.assign(tokens, around)
        self.calls(tokens, around)
        if self.placement:
            self.placement.statement(tokens, loops)

    def declare(self, node, tokens):
        i, typed = 0, False
        while i < len(tokens) and (tokens[i] in QUALIFIERS or not typed and self.is_type(tokens, i)):
            typed = typed or tokens[i] not in QUALIFIERS or tokens[i] in ('unsigned', 'signed')
            i += 1
        if not typed or i == len(tokens):
            return
        for part in split(tokens[i:]):
            names = [t for t in part if is_name(t) and t not in QUALIFIERS]
            if not names:
                continue
            memory = '*' in part[:part.index(names[0])]
            if '__local' in tokens[:i] and not memory:
                self.unit.shared.add(names[0])
                continue
            self.bind(id(node), names[0], memory=memory)
            variable = self.find(names[0])
            text = [t for t in part[part.index(names[0]) + 1:] if is_name(t)]
            variable.is_local_id = any(t in LOCAL_ID for t in text) and all(
                t in LOCAL_ID or TYPES.match(t) or t == 'x' for t in text) and '/' not in part

    def is_type(self, tokens, i):
        if not (TYPES.match(tokens[i]) or tokens[i] in self.unit.types) or self.find(tokens[i]):
            return False
        behind = tokens[i + 1] if i + 1 < len(tokens) else ''
        return is_name(behind) or behind == '*'

    def assign(self, tokens, around):
        for i, token in enumerate(tokens):
            if token in ASSIGN:
                target = root(tokens, i - 1)
                end = i + 1
                depth = 0
                while end < len(tokens) and not (depth == 0 and tokens[end] in CLOSE | {','}):
                    depth += (tokens[end] in OPEN) - (tokens[end] in CLOSE)
                    end += 1
                # The left side too: its index tells which element changes.
                variable = self.find(tokens[target])
                level = max(around, self.level(tokens[i + 1:end]), self.level(tokens[target + 1:i]))
                self.raise_to(variable, level)
            elif token in ('++', '--'):
                before = i and (is_name(tokens[i - 1]) or tokens[i - 1] == ']')
                target = root(tokens, i - 1) if before else i + 1
                self.raise_to(self.find(tokens[target]), around)
            elif token == '&' and (i == 0 or tokens[i - 1] in ('(', ',')) and i + 1 < len(tokens):
                self.raise_to(self.find(tokens[i + 1]), ITEM)

    def calls(self, tokens, around):
        for i, token in enumerate(tokens[:-1]):
            if token in self.parameters and tokens[i + 1] == '(':
                given = split(tokens[i + 2:closing(tokens, i + 1)])
                for variable, argument in zip(self.parameters[token], given):
                    self.raise_to(variable, max(around, self.level(argument)))

    def check_returns(self):
        if self.function.name not in self.together:
            return
        order = list(in_order(self.function.body, False))
        last = max((i for i, (tokens, _) in enumerate(order) if self.meets(tokens)), default=-1)
        for i, (tokens, in_meeting) in enumerate(order):
            if tokens[:1] == ['return'] and (i < last or in_meeting):
                self.report('return-above-barrier', 'return above a barrier')

    def meets(self, tokens):
        return any(is_together(t) or t in self.together for t in tokens)


class Placement:
    """Where barriers and operations of sub-groups stand. Those of a loop become known as its body is
    walked, so that loops are judged last."""

    def __init__(self, checker):
        self.c, self.meeting, self.jumps = checker, set(), []

    def statement(self, tokens, around):
        if not self.c.meets(tokens):
            return
        what = next(t for t in tokens if is_together(t) or t in self.c.together)
        self.meeting.update(id(n) for n in around)
        for node in around:
            if node.kind in ('if', 'switch') and self.c.level(node.cond) > CONSTANT:
                self.c.report('barrier-in-branch', '%s under the condition %s, which is %s' % (
                    what, short(node.cond), LEVELS[self.c.level(node.cond)]))
        if any(t in ('?', '&&', '||') for t in tokens[:tokens.index(what)]):
            self.c.report('barrier-in-branch', '%s inside of an expression that may skip it' % what)

    def jump(self, node, around, loops):
        kind = node.tokens[0]
        left = [n for n in loops if n.kind in ('for', 'while', 'do') or
                n.kind == 'switch' and kind == 'break']
        if kind in ('break', 'continue') and left and around > CONSTANT:
            self.jumps.append((left[-1], kind, around))

    def control(self, node, level):
        if node.kind in ('if', 'switch') or id(node) not in self.meeting:
            return
        if level > GROUP:
            self.c.report('trip-count', 'a loop around a barrier runs while %s, which is %s' % (
                short(node.cond), LEVELS[level]))
        for loop, kind, around in self.jumps:
            if loop is node:
                self.c.report('jump-in-barrier-loop', '%s in a loop around a barrier, under a condition '
                              'that is %s' % (kind, LEVELS[around]))


def root(tokens, at):
    """The name at the start of what ends at `at`: of a[i].x it is a."""
    while at >= 0:
        if tokens[at] in CLOSE:
            depth = 0
            while at >= 0:
                depth += (tokens[at] in CLOSE) - (tokens[at] in OPEN)
                if depth == 0:
                    break
                at -= 1
            at -= 1
        elif is_name(tokens[at]) and (at == 0 or tokens[at - 1] not in ('.', '->')):
            return at
        else:
            at -= 1
    return 0


def short(tokens):
    text = ' '.join(tokens)
    return "'%s'" % (text if len(text) < 70 else text[:67] + '...')
