#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import process from 'node:process'

// What the commands load is compiled once per machine and release, not at every start: hence before
// anything of them is loaded, and by the variable for the threads and workers that they start.
const { directory } = enableCompileCache()
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory

const { writeError: complain } = await import('./cli/terminal/output.ts')
const { run } = await import('./cli/run.ts')
const { processTerminal } = await import('./cli/terminal/terminal.ts')

// Of what is experimental in Node, its users are not to hear.
const warnings = process.listeners('warning')
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') for (const show of warnings) show(warning)
})

const terminal = processTerminal()

// Whoever reads the output may stop reading: `pubring key list | head -1`.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(terminal.exitCode)
    complain(`pubring: The output cannot be written (${error.code}).\n`)
    process.exit(1)
  })
}

const exitCode = await run(process.argv.slice(2), terminal)
process.exitCode = exitCode
// A command that failed ends once its words are out, whatever it has left open.
if (exitCode !== 0) {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)))
}
