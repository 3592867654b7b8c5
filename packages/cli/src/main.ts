#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import process from 'node:process'

// Compiles modules once per machine and release: enabled before any of them is loaded, and by the
// variable for worker threads and processes.
const { directory } = enableCompileCache()
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory

const { writeError } = await import('./terminal/terminal.ts')
const { exitCodes } = await import('./terminal/exit-codes.ts')
const { run } = await import('./run.ts')
const { processTerminal } = await import('./terminal/terminal.ts')

// Users of Pubring do not need Node's notices about its experimental features.
const warnings = process.listeners('warning')
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') for (const listener of warnings) listener(warning)
})

const terminal = processTerminal()

// The reader of a pipe may close it early: `pubring key list | head -1`.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(terminal.exitCode)
    writeError(`pubring: The output cannot be written (${error.code}).\n`)
    process.exit(exitCodes.error.code)
  })
}

const exitCode = await run(process.argv.slice(2), terminal)
process.exitCode = exitCode
// A failed command exits once its output is written, even if it left something open.
if (exitCode !== 0) {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)))
}
