#!/usr/bin/env python3
"""Writes the exported shell of every driver function: name, count, per-thread stream, and the call of its model.

Reads the cuda.h and cudaTypedefs.h at hand through the compiler's preprocessor, so that an older or newer toolkit gives
exactly its own set of functions, and scans the model's sources for SIMNODE_ENTRY(name). A function without a model gets
a shell that answers CUDA_ERROR_NOT_SUPPORTED. Also writes the table behind cuGetProcAddress and the names of the errors.
"""
import argparse
import collections
import re
import subprocess
import sys

PROTOTYPE = re.compile(r'CUresult\s+(cu[A-Z]\w*)\s*\(([^;{}]*?)\)\s*;', re.S)
TYPEDEF = re.compile(r'\(\s*\*\s*PFN_(cu[A-Z]\w*?)_v(\d+)(_ptsz|_ptds)?\s*\)\s*\(', re.S)
ENTRY = re.compile(r'\bSIMNODE_ENTRY\((cu\w+)\)')
# Functions that the toolkit declares in headers of their own (which the PyPI wheels lack); version of their first toolkit.
EXTRA_VERSIONS = {'cuProfilerInitialize': 4000, 'cuProfilerStart': 4000, 'cuProfilerStop': 4000,
                  'cuGLGetDevices': 4010, 'cuGLGetDevices_v2': 6050, 'cuGLInit': 2000,
                  'cuGLCtxCreate': 2000, 'cuGLCtxCreate_v2': 3020,
                  'cuGraphicsGLRegisterBuffer': 3000, 'cuGraphicsGLRegisterImage': 3000}

Parameter = collections.namedtuple('Parameter', 'type name')
Name = collections.namedtuple('Name', 'base version stream')


def preprocess(compiler, include, header, *flags):
    command = [compiler, '-x', 'c++', '-E', '-P', '-D__CUDA_API_VERSION_INTERNAL', '-I', include, *flags, header]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f'simnode: cannot preprocess {header}: {result.stderr.strip()[:400]}')
    return result.stdout


def split_name(symbol):
    match = re.fullmatch(r'(cu\w+?)(?:_v(\d+))?(_ptsz|_ptds)?', symbol)
    return Name(match[1], int(match[2] or 1), match[3] or '')


def parameters_of(text):
    text = ' '.join(text.split())
    if text in ('', 'void'):
        return []
    parsed = []
    for position, declaration in enumerate(text.split(',')):
        match = re.fullmatch(r'(.*?[\s*])(\w+)\s*(\[\d*\])?', declaration.strip())
        if not match or match[2] in ('int', 'char', 'short', 'long', 'float', 'double') or match[1].strip() == 'const':
            parsed.append(Parameter(declaration.strip(), f'argument{position}'))
        else:
            parsed.append(Parameter(match[1].strip() + (' *' if match[3] else ''), match[2]))
    return parsed


def shell(symbol, parameters, index, modelled, takes_default_stream):
    stream_form = split_name(symbol).stream
    model = symbol[:-len(stream_form)] if stream_form else symbol
    declared = ', '.join(f'{p.type} {p.name}' for p in parameters)
    lines = [f'extern "C" CUresult {symbol}({declared}) {{', f'  simnode::count({index});']
    if model not in modelled:
        return lines + ['  return CUDA_ERROR_NOT_SUPPORTED;', '}']
    arguments = []
    if model in takes_default_stream:
        arguments.append('CU_STREAM_PER_THREAD' if stream_form else 'CU_STREAM_LEGACY')
    for parameter in parameters:
        if parameter.type == 'CUstream' and stream_form:
            arguments.append(f'simnode::per_thread({parameter.name})')
        elif parameter.type.replace(' ', '') == 'constCUlaunchConfig*' and stream_form:
            lines.append(f'  simnode::PerThreadConfig on_thread({parameter.name});')
            arguments.append('on_thread.get()')
        else:
            arguments.append(parameter.name)
    return lines + [f'  return simnode::entry_{model}({", ".join(arguments)});', '}']


def declaration(symbol, parameters, takes_default_stream):
    types = (['CUstream'] if symbol in takes_default_stream else []) + [p.type for p in parameters]
    return f'CUresult entry_{symbol}({", ".join(types)});'


def address_table(symbols, typedefs):
    """Rows (base name, per-thread form, first version, symbol), as cudaTypedefs.h pairs versions and symbols."""
    rows = []
    by_form = collections.defaultdict(list)
    for symbol in symbols:
        name = split_name(symbol)
        by_form[name.base, bool(name.stream)].append((name.version, symbol))
    for (base, per_thread), variants in by_form.items():
        variants.sort()
        versions = sorted(typedefs[base, per_thread])
        if len(versions) != len(variants):
            versions = [EXTRA_VERSIONS.get(symbol, 2000) for _, symbol in variants]
        rows += [(base, per_thread, version, symbol) for version, (_, symbol) in zip(versions, variants)]
    return sorted(rows)


def typedef_versions(text):
    versions = collections.defaultdict(set)
    for name, version, stream_form in TYPEDEF.findall(text):
        versions[name, bool(stream_form)].add(int(version))
    return versions


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--compiler', required=True)
    arguments.add_argument('--include', required=True)
    arguments.add_argument('--extra', required=True)
    arguments.add_argument('--out', required=True)
    arguments.add_argument('sources', nargs='+')
    arguments = arguments.parse_args()
    header = preprocess(arguments.compiler, arguments.include, arguments.extra)
    typedefs = typedef_versions(preprocess(arguments.compiler, arguments.include,
                                           arguments.include + '/cudaTypedefs.h'))
    prototypes = dict(PROTOTYPE.findall(header))
    symbols = sorted(prototypes)
    modelled = {name for source in arguments.sources for name in ENTRY.findall(open(source, encoding='utf-8').read())}
    takes_default_stream = {symbol[:-5] for symbol in symbols if symbol.endswith('_ptds')}
    rows = address_table(symbols, typedefs)
    write(arguments.out, prototypes, symbols, modelled, takes_default_stream, rows, header)


def write(path, prototypes, symbols, modelled, takes_default_stream, rows, header):
    parsed = {symbol: parameters_of(prototypes[symbol]) for symbol in symbols}
    index = {symbol: position for position, symbol in enumerate(symbols)}
    out = ['// Written by generate_entries.py. Do not edit.', '#include "cuda/entries/shell.h"', 'namespace simnode {']
    out += [declaration(symbol, parsed[symbol], takes_default_stream) for symbol in symbols if symbol in modelled]
    out += [f'const char* const kEntryNames[] = {{{", ".join(chr(34) + s + chr(34) for s in symbols)}}};',
            f'const unsigned kEntryCount = {len(symbols)};', '}  // namespace simnode']
    for symbol in symbols:
        out += shell(symbol, parsed[symbol], index[symbol], modelled, takes_default_stream)
    out += ['namespace simnode {', 'const Address kAddresses[] = {']
    for base, per_thread, version, symbol in rows:
        out.append(f'  {{"{base}", {str(per_thread).lower()}, {version}, reinterpret_cast<void*>(&{symbol})}},')
    out += ['};', f'const unsigned kAddressCount = {len(rows)};', 'const ErrorName kErrorNames[] = {']
    errors = re.findall(r'\b(CUDA_SUCCESS|CUDA_ERROR_\w+)\s*=\s*(\d+)', header)
    out += [f'  {{{value}, "{name}"}},' for name, value in errors]
    out += ['};', f'const unsigned kErrorCount = {len(errors)};', '}  // namespace simnode', '']
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(out))


if __name__ == '__main__':
    main()
