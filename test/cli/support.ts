import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { run } from '../../src/cli/run.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { expectNoSecret } from '../support/secrets.ts'

/** What a command wrote, and its exit code. */
export interface Ran {
  code: number
  stdout: string
  stderr: string
}

export interface Call {
  /** Instead of the variables that lead to the test server as an admin; undefined unsets one. */
  env?: Record<string, string | undefined>
  /** What stands on standard input. */
  input?: string | Buffer
  /** What a person types at the terminal once the question is there: all of it is a terminal then. */
  answers?: Record<string, string>
  /** Columns of the terminal that stdout is; without it, it is a pipe. */
  columns?: number
  /** Ctrl-C. */
  signal?: AbortSignal
  /** Told of all that stands on stdout so far, whenever something is added. */
  heard?: (stdout: string) => void
}

/** A shell in a folder of its own. */
export interface Shell {
  folder: string
  /** Writes a file of the folder and answers its path. */
  file(name: string, content: string | Buffer): string
  pubring(args: readonly string[], call?: Call): Promise<Ran>
  /** Fails where a command wrote a secret, but for those that are to. */
  remove(): void
}

/** Commands of this process, with the environment given and nothing else. */
export function openShell(env: () => Record<string, string>): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const written: Record<string, string> = {}
  return {
    folder,
    file(name, content) {
      const path = join(folder, name)
      writeFileSync(path, content, { mode: 0o600 })
      return path
    },
    async pubring(args, call = {}) {
      const ran = await runIn({ HOME: folder, ...env(), ...call.env }, args, call)
      const isSecret = /^(?:api-key create|token sample)/.test(args.join(' '))
      const key = `${Object.keys(written).length} ${args.slice(0, 2).join(' ')}`
      written[key] = isSecret ? ran.stderr : ran.stdout + ran.stderr
      return ran
    },
    remove() {
      rmSync(folder, { recursive: true, force: true })
      expectNoSecret(written)
    },
  }
}

async function runIn(
  env: Record<string, string | undefined>,
  args: readonly string[],
  { input = '', answers, columns, signal, heard = () => {} }: Call,
): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof written) => {
    const one = new PassThrough()
    one.on('data', (chunk) => {
      written[name] += chunk
      if (name === 'stdout') heard(written.stdout)
    })
    return one
  }
  const keyboard = Object.assign(new PassThrough(), { isTTY: true })
  // As that of a process, which nobody can end.
  const stderr = Object.assign(stream('stderr'), { end: () => stderr })
  if (answers !== undefined) type(keyboard, stderr, answers)
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const code = await run(args, {
    env,
    stdin: answers === undefined ? Readable.from([Buffer.from(input)]) : keyboard,
    stdout: Object.assign(stream('stdout'), terminal),
    stderr: Object.assign(stderr, answers === undefined ? {} : { isTTY: true, columns: 200 }),
    exitCode: 0,
    quiet: false,
    interruptSignal: () => signal ?? new AbortController().signal,
  })
  await new Promise(setImmediate)
  return { code, ...written }
}

/** Types each answer once its question stands on the terminal. */
function type(keyboard: PassThrough, shown: PassThrough, answers: Record<string, string>): void {
  const left = new Map(Object.entries(answers))
  let text = ''
  shown.on('data', (chunk) => {
    text += chunk
    for (const [question, answer] of left) {
      if (!text.includes(question)) continue
      left.delete(question)
      setImmediate(() => keyboard.write(answer))
    }
  })
}

/** A shell and the whole application on a real port, which it knows as an admin. */
export async function startShell(
  options?: Parameters<typeof startApp>[0],
): Promise<Shell & { test: TestApp; url: string; close(): Promise<void> }> {
  const test = await startApp(options)
  const url = await test.listen()
  const shell = openShell(() => ({
    PUBRING_URL: url,
    PUBRING_API_KEY: test.admin,
    PUBRING_PROJECT: test.project.name,
  }))
  return {
    ...shell,
    test,
    url,
    async close() {
      shell.remove()
      await test.close()
    },
  }
}

/** What came of a command with `--json`, as the one document that it is. */
export function documentOf({ stdout }: Ran): Record<string, unknown> {
  return Object(JSON.parse(stdout))
}
