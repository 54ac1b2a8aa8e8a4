#!/usr/bin/env python3
"""Checks the rules of docs/kernels.md on kernels, shaders and the files around them.

    lint.py repository [--build BUILD]   everything; BUILD has generated/ and tests/absent/absent_opencl
    lint.py files FILE...                kernels alone
    lint.py cases FOLDER                 FOLDER/bad/*: each breaks the rule in its first line, and no other;
                                         FOLDER/good/*: none
Prints what it found, a line each; status 1 if that is anything."""
import glob
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile

import flow
import source
import spirv
import text

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def preprocess(path, options=()):
    if path.endswith('.cl'):
        command = ['clang', '-E', '-P', '-x', 'cl', '-cl-std=CL1.2', *options, path]
    else:
        command = ['glslangValidator', '-E', '-I' + ROOT + '/shaders', '-I' + ROOT + '/runtime/math', path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError('%s: %s' % (path, (done.stderr or done.stdout).strip()[:400]))
    return done.stdout


def unroll_bounds(unit):
    """A loop that is to be unrolled has a count that the compiler knows."""
    checker = flow.Checker(unit)

    def visit(node):
        if node.unroll:
            for token in node.cond:
                if token in unit.arguments or token in flow.BUILT_IN and flow.BUILT_IN[token]:
                    yield ('unroll', 'a loop to be unrolled runs while %s' % flow.short(node.cond))
        for child in node.children():
            yield from visit(child)

    for checker.function in unit.functions.values():
        for rule, what in visit(checker.function.body):
            yield rule, checker.function.name, what


def check_unit(job):
    """Findings of a whole translation unit, as lines."""
    path, name, options = job
    try:
        unit = source.Unit(preprocess(path, options))
        found = flow.Checker(unit).check() + list(unroll_bounds(unit))
    except (RuntimeError, SyntaxError, IndexError) as error:
        return ['%s: unreadable: %s' % (name, error)]
    return ['%s: %s: in %s: %s' % (name, rule, function, what) for rule, function, what in found]


def check_kernel_file(path):
    return ['%s: %s: %s' % (os.path.relpath(path, ROOT), rule, what)
            for rule, what in text.kernel_file(read(path), path)]


def units_of_build(build, folder):
    """Every shader module, and every OpenCL program in the form for GPUs with its options."""
    jobs = [(path, os.path.basename(path), ()) for path in
            sorted(glob.glob(os.path.join(build, 'generated/shaders/*.comp')))]
    subprocess.run([os.path.join(build, 'tests/absent/absent_opencl'), folder], check=True)
    for line in read(os.path.join(folder, 'list')).splitlines():
        number, kernel, variant = line.split('\t')
        options = [o for o in read('%s/%s.options' % (folder, number)).split() if o.startswith('-D')]
        jobs.append(('%s/%s.cl' % (folder, number), '%s (%s)' % (kernel, variant), options))
    return jobs


MUTATED = re.compile(r'am_softmax_forward_group|am_product|product\.full\.comp')
BARRIER = re.compile(r'\bbarrier\([^()]*\);')


def check_mutants(job):
    """Kernels that need each of their barriers: without one of them there must be a finding."""
    path, name, options = job
    whole, found = preprocess(path, options), []
    places = list(BARRIER.finditer(whole))
    for place in places:
        unit = source.Unit(whole[:place.start()] + ';' + whole[place.end():])
        if not flow.Checker(unit).check():
            found.append('%s: a barrier is missed by nobody: %s' % (
                name, whole[max(0, place.start() - 60):place.start()].strip()))
    return found, len(places)


def check_modules(build, folder):
    found, count = [], 0
    for header in sorted(glob.glob(os.path.join(build, 'generated/shaders/*.h'))):
        for name, data in spirv.modules(read(header)):
            count += 1
            found += ['%s: %s: %s' % (name, rule, what) for rule, what in spirv.check(name, data)]
            path = os.path.join(folder, name + '.spv')
            with open(path, 'wb') as file:
                file.write(data)
            done = subprocess.run(['spirv-val', '--target-env', 'vulkan1.1', path], capture_output=True,
                                  text=True, check=False)
            if done.returncode:
                found.append('%s: spirv-val: %s' % (name, done.stderr.strip()))
    return found, count


def tracked_files():
    done = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z'], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return [os.path.join(ROOT, name) for name in done.stdout.split('\0') if name]
    return [os.path.join(folder, name) for folder, folders, names in os.walk(ROOT)
            for name in names if not re.search(r'/(\.git|build[^/]*)(/|$)', folder)]


def check_texts():
    found = []
    for path in tracked_files():
        if not os.path.isfile(path) or os.path.islink(path):
            continue
        try:
            content = read(path)
        except UnicodeDecodeError:
            continue
        name = os.path.relpath(path, ROOT)
        found += ['%s: %s: %s' % (name, rule, what) for rule, what in text.any_file(content)]
        if re.match(r'runtime/.*\.[ch]$', name):
            limits = text.limits_of(read(os.path.join(ROOT, 'runtime/backend.h')))
            found += ['%s: %s: %s' % (name, rule, what) for rule, what in text.host_file(content, limits)]
    return found


def repository(build):
    kernels = sorted(glob.glob(ROOT + '/cl/*') + glob.glob(ROOT + '/shaders/*'))
    maths = sorted(glob.glob(ROOT + '/runtime/math/**/*.h', recursive=True))
    found = check_texts()
    for path in kernels + maths:
        found += check_kernel_file(path)
    counts = '%d files of kernels and maths' % len(kernels + maths)
    if build:
        with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool() as pool:
            jobs = units_of_build(build, folder)
            for lines in pool.imap(check_unit, jobs):
                found += lines
            mutants = 0
            for lines, number in pool.imap(check_mutants, [j for j in jobs if MUTATED.match(j[1])]):
                found += lines
                mutants += number
            modules, number = check_modules(build, folder)
            found += modules
            counts += ', %d programs, %d of them without a barrier, %d modules' % (
                len(jobs) + mutants, mutants, number)
            if not jobs or not mutants or not number:
                found.append('the build has no programs or no modules')
    return found, counts


def check_file(path):
    """A kernel that is a unit of its own."""
    if path.endswith('.c'):
        return ['%s: %s: %s' % (os.path.relpath(path, ROOT), rule, what)
                for rule, what in text.host_file(read(path), {'range_bytes'})]
    return check_kernel_file(path) + check_unit((path, os.path.relpath(path, ROOT), ()))


def cases(folder):
    """What is wrong with the rules themselves."""
    found, number = [], 0
    for path in sorted(glob.glob(folder + '/bad/*') + glob.glob(folder + '/good/*')):
        number += 1
        wanted = set(re.findall(r'breaks: ([\w-]+)', read(path))) if '/bad/' in path else set()
        if '/bad/' in path and len(wanted) != 1:
            found.append('%s does not say which rule it breaks' % path)
        lines = check_file(path)
        rules = {line.split(': ')[1] for line in lines}
        if rules != wanted:
            found.append('%s: wanted %s, found %s' % (path, sorted(wanted), lines))
    return found, '%d cases' % number


def main(arguments):
    if arguments[:1] == ['repository']:
        found, counts = repository(arguments[2] if arguments[1:2] == ['--build'] else None)
    elif arguments[:1] == ['cases'] and len(arguments) == 2:
        found, counts = cases(arguments[1])
    elif arguments[:1] == ['files'] and len(arguments) > 1:
        found, counts = [line for path in arguments[1:] for line in check_file(path)], '%d files' % (
            len(arguments) - 1)
    else:
        print(__doc__)
        return 2
    for line in found:
        print(line)
    print('lint: %s: %d findings' % (counts, len(found)))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
