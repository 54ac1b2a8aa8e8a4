"""Rules of shared memory, on the units of source.py: what items write and others read has a barrier
between."""
from source import ASSIGN, BARRIERS, closing, in_order


class SharedMemory:
    """What was read and written since the last barrier, array by array: reads and writes by the text of
    the index, updates in place (of an item's own element, perhaps with another's) apart."""

    def __init__(self, checker):
        self.c, self.unit = checker, checker.unit
        self.private = {name for name in self.unit.shared if self.is_private(name)}

    def is_private(self, name):
        """Each item has a column of its own: all indices end in `+ its number in the group`."""
        ends = set()
        for function in self.unit.functions.values():
            for tokens, _ in in_order(function.body, False):
                if '__local' in tokens:
                    continue
                for at, end in accesses(tokens, name):
                    ends.add(tuple(tokens[at + 2:end][-2:]))
        numbers = {v.name for v in self.c.variables.values() if v.is_local_id}
        return len(ends) == 1 and all(len(e) == 2 and e[0] == '+' and e[1] in numbers for e in ends)

    def walk(self, node, state):
        if node is None:
            return state
        if node.kind == 'block':
            for item in node.items:
                state = self.walk(item, state)
            return state
        if node.kind in ('expr', 'jump'):
            return self.statement(node.tokens, state)
        if node.kind in ('if', 'switch'):
            state = self.statement(node.cond, state)
            return join(self.walk(node.body, state), self.walk(node.other, state))
        if node.kind in ('for', 'while', 'do'):
            before = state = self.statement(node.init, state)
            for _ in range(2):  # what the end of a turn leaves meets the next turn's start
                state = self.statement(node.cond, state) if node.kind != 'do' else state
                state = self.statement(node.step, self.walk(node.body, state))
                state = self.statement(node.cond, state)
            return state if node.kind == 'do' else join(before, state)
        return state

    def statement(self, tokens, state):
        for i, token in enumerate(tokens[:-1]):
            if token in self.unit.functions and token in self.c.sharing and tokens[i + 1] == '(':
                state = self.walk(self.unit.functions[token].body, state)
        if any(t in BARRIERS - {'subgroupBarrier', 'sub_group_barrier'} for t in tokens):
            return {}
        if '__local' in tokens or 'shared' in tokens:
            return state  # the declaration
        for name in sorted(self.unit.shared - self.private):
            state = self.touch(name, tokens, state)
        return state

    def touch(self, name, tokens, state):
        reads, writes, updated = [], [], False
        for at, end in accesses(tokens, name):
            index = ' '.join(tokens[at + 2:end])
            if end + 1 < len(tokens) and tokens[end + 1] in ASSIGN:
                writes.append(index)
                updated = updated or tokens[end + 1] != '='
            else:
                reads.append(index)
        if not reads and not writes:
            return state
        had = {kind: set(state.get((name, kind), ())) for kind in 'RWU'}
        if writes and (updated or set(writes) & set(reads)):
            self.meet(name, 'refilled', had['R'], writes)
            self.meet(name, 'read', had['W'], reads + writes)
            had['U'].update(writes)
        else:
            if reads:
                self.meet(name, 'read', had['W'] | had['U'], reads)
                had['R'].update(reads)
            if writes:
                self.meet(name, 'refilled', had['R'] | had['U'], writes)
                had['W'].update(writes)
        state = dict(state)
        state.update({(name, kind): frozenset(had[kind]) for kind in 'RWU'})
        return state

    def meet(self, name, what, before, now):
        for index in now:
            others = before - {index}
            if others:
                self.c.report('shared-' + ('refill' if what == 'refilled' else 'read'),
                              '%s[%s] is %s with no barrier since %s[%s] was %s' % (
                                  name, index, what, name, min(others),
                                  'used' if what == 'refilled' else 'written'))


def join(a, b):
    return {key: a.get(key, frozenset()) | b.get(key, frozenset()) for key in a.keys() | b.keys()}


def accesses(tokens, name):
    """(place of the name, place of the bracket that ends its index)."""
    for i, token in enumerate(tokens[:-1]):
        if token == name and tokens[i + 1] == '[' and (i == 0 or tokens[i - 1] not in ('.', '->')):
            end = closing(tokens, i + 1)
            while end + 1 < len(tokens) and tokens[end + 1] == '[':
                end = closing(tokens, end + 1)
            yield i, end
