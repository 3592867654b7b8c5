/**
 * Fills an empty database with projects and distinct P-256 keys: a registry of any size to measure.
 * Progress is on stderr.
 *
 *   npm run bench:fill -- --keys 1000000 --projects 100000 --database-url sqlite:/tmp/large.db
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { loadConfig } from '../src/config/server-settings.ts'
import { fillRegistry } from './fill/registry.ts'

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    projects: { type: 'string', default: '100000' },
    'database-url': { type: 'string' },
  },
})

function count(name: 'keys' | 'projects'): number {
  const number = Number(values[name])
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} is a whole number from 1.`)
  return number
}

function progress(total: number): (done: number) => void {
  const began = performance.now()
  const isTerminal = process.stderr.isTTY === true
  return (done) => {
    const seconds = (performance.now() - began) / 1_000
    const line = `${done} of ${total} keys, ${Math.round(done / seconds)}/s, ${Math.round(seconds)} s`
    const over = done === total
    if (isTerminal) process.stderr.write(`\r${line}${over ? '\n' : ''}`)
    else if (over || done % 100_000 < 10_000) process.stderr.write(`${line}\n`)
  }
}

try {
  const given = values['database-url']
  const { databaseUrl } = loadConfig(process.env, given === undefined ? {} : { databaseUrl: given })
  const size = { keys: count('keys'), projects: count('projects') }
  await fillRegistry(databaseUrl, size, progress(size.keys))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
