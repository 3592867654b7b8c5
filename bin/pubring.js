#!/usr/bin/env node
// The command. Plain JavaScript, so that a Node which is too old can still say so.
import { existsSync } from 'node:fs'
import process from 'node:process'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `pubring: needs Node 24 or later, and this is ${process.version}. ` +
      'Install it, or run "npm install node@26" in this folder, which npx then uses (it needs the library libatomic1).\n',
  )
  // As in packages/cli/src/terminal/exit-codes.ts, which such a Node cannot read.
  process.exit(70)
}

// Compiled once per machine and release, not at every start; by the variable for the threads and
// workers too. Here already: for a single file of TypeScript that is not in the cache Node loads a
// compiler, which stays in memory.
const { enableCompileCache } = await import('node:module')
const { directory } = enableCompileCache()
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory

// A checkout runs its sources. A package has what was compiled from them, in the same places below dist.
const source = new URL('../packages/cli/src/main.ts', import.meta.url)
const compiled = new URL('../dist/packages/cli/src/main.js', import.meta.url)
await import(existsSync(source) ? source.href : compiled.href)
