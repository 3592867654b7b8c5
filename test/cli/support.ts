import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { Command } from 'commander'
import { expect } from 'vitest'
import { createProgram } from '../../packages/cli/src/program.ts'
import { run } from '../../packages/cli/src/run.ts'
import type { Terminal } from '../../packages/cli/src/terminal/terminal.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { endLater } from '../support/ending.ts'
import { expectNoSecret } from '../support/secrets.ts'

/** The output and exit code of a command. */
export interface Ran {
  code: number
  stdout: string
  stderr: string
}

export interface Call {
  /** Overrides the variables that select the test server and an admin API key; undefined unsets one. */
  env?: Record<string, string | undefined>
  /** Standard input. */
  input?: string | Buffer
  /** The answer that a user types to each question; makes stdin and stderr a terminal. */
  answers?: Record<string, string>
  /** Makes stdout a terminal of this width; otherwise it is a pipe. */
  columns?: number
  /** Ctrl-C. */
  signal?: AbortSignal
  /** Called with all of stdout whenever it grows. */
  onStdout?: (stdout: string) => void
  /** The same for stderr. */
  onStderr?: (stderr: string) => void
}

/** Runs commands in a temporary home folder. */
export interface Shell {
  folder: string
  /** Writes a file in the folder and returns its path. */
  file(name: string, content: string | Buffer): string
  pubring(args: readonly string[], call?: Call): Promise<Ran>
  /** Removes the folder. Fails if a command printed a secret, except those that must. */
  remove(): void
}

/** Runs commands in this process, with the environment from `env` and a long timeout. */
export function openShell(env: () => Record<string, string>): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const written: Record<string, string> = {}
  // On a busy machine a request may take longer than commands wait by default.
  const base = { HOME: folder, PUBRING_TIMEOUT: '10m' }
  return {
    folder,
    file(name, content) {
      const path = join(folder, name)
      writeFileSync(path, content, { mode: 0o600 })
      return path
    },
    async pubring(args, call = {}) {
      const ran = await runIn({ ...base, ...env(), ...call.env }, args, call)
      const isSecret = /^(?:api-key create|registration-link create|token sample)/.test(
        args.join(' '),
      )
      const key = `${Object.keys(written).length} ${args.slice(0, 2).join(' ')}`
      written[key] = isSecret ? ran.stderr : ran.stdout + ran.stderr
      return ran
    },
    remove: endLater(() => {
      rmSync(folder, { recursive: true, force: true })
      expectNoSecret(written)
    }),
  }
}

async function runIn(
  env: Record<string, string | undefined>,
  args: readonly string[],
  { input = '', answers, columns, signal, onStdout = () => {}, onStderr = () => {} }: Call,
): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof written) => {
    const output = new PassThrough()
    output.on('data', (chunk) => {
      written[name] += chunk
      if (name === 'stdout') onStdout(written.stdout)
      else onStderr(written.stderr)
    })
    return output
  }
  const keyboard = Object.assign(new PassThrough(), { isTTY: true })
  // Like the stream of a process, it cannot be ended.
  const stderr = Object.assign(stream('stderr'), { end: () => stderr })
  if (answers !== undefined) type(keyboard, stderr, answers)
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const code = await run(args, {
    env,
    stdin: answers === undefined ? Readable.from([Buffer.from(input)]) : keyboard,
    stdout: Object.assign(stream('stdout'), terminal),
    stderr: Object.assign(stderr, answers === undefined ? {} : { isTTY: true, columns: 200 }),
    exitCode: 0,
    json: false,
    interruptSignal: () => signal ?? new AbortController().signal,
    // The command shares its process with the tests of other files.
    lowerPriority: () => {},
  })
  await new Promise(setImmediate)
  return { code, ...written }
}

/** All commands, as a terminal of this kind has them. */
export function programFor(terminal: Partial<Terminal> = {}): Command {
  return createProgram({
    env: {},
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    exitCode: 0,
    json: false,
    interruptSignal: () => new AbortController().signal,
    lowerPriority: () => {},
    ...terminal,
  })
}

/** Types each answer once its question appears on the screen. */
function type(keyboard: PassThrough, screen: PassThrough, answers: Record<string, string>): void {
  const pending = new Map(Object.entries(answers))
  let text = ''
  screen.on('data', (chunk) => {
    text += chunk
    for (const [question, answer] of pending) {
      if (!text.includes(question)) continue
      pending.delete(question)
      setImmediate(() => keyboard.write(answer))
    }
  })
}

/** A shell whose commands call the whole application on a real port, as an admin. */
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
    close: endLater(async () => {
      shell.remove()
      await test.close()
    }),
  }
}

/** A server other than Pubring, for commands that meet one. */
export async function listen(
  handler: RequestListener = () => {},
  host = '127.0.0.1',
): Promise<{ url: string; server: Server; close(): void }> {
  const server = createServer(handler).listen(0, host)
  await once(server, 'listening')
  const name = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${name}:${Object(server.address()).port}`,
    server,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The document that a command with `--json` printed. */
export function documentOf({ stdout }: Ran): Record<string, unknown> {
  return Object(JSON.parse(stdout))
}

/** Makes an expected step of `pubring doctor`, with the outcome and a sentence that matches. */
const stepWith = (outcome: string) => (step: string, sentence: RegExp) => ({
  step,
  outcome,
  detail: expect.stringMatching(sentence),
})
export const failed = stepWith('failed')
export const warned = stepWith('warned')
export const passed = stepWith('passed')
