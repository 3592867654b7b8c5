/**
 * Fills an empty database with projects and distinct P-256 keys, as a registry to measure. Reports
 * progress on stderr.
 *
 *   npm run bench:fill -- --keys 1000000 --projects 100000 --database-url sqlite:/tmp/large.db
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { loadConfig } from '../packages/server/src/config/server-settings.ts'
import { fillRegistry } from './fill/registry.ts'

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    projects: { type: 'string', default: '100000' },
    'database-url': { type: 'string' },
  },
})

function countOption(name: 'keys' | 'projects'): number {
  const number = Number(values[name])
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} is a whole number from 1.`)
  return number
}

function progressReporter(total: number): (done: number) => void {
  const start = performance.now()
  const isTerminal = process.stderr.isTTY === true
  return (done) => {
    const seconds = (performance.now() - start) / 1_000
    const line = `${done} of ${total} keys, ${Math.round(done / seconds)}/s, ${Math.round(seconds)} s`
    const finished = done === total
    if (isTerminal) process.stderr.write(`\r${line}${finished ? '\n' : ''}`)
    else if (finished || done % 100_000 < 10_000) process.stderr.write(`${line}\n`)
  }
}

try {
  const option = values['database-url']
  const { databaseUrl } = loadConfig(
    process.env,
    option === undefined ? {} : { databaseUrl: option },
  )
  const size = { keys: countOption('keys'), projects: countOption('projects') }
  await fillRegistry(databaseUrl, size, progressReporter(size.keys))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
