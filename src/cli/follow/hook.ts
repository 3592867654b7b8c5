import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

/** A command that runs longer is killed, and counts as failed. */
export const hookTimeoutMs = 60_000

const firstPauseMs = 1_000
const maxPauseMs = 60_000

export interface Hook {
  /** Runs the command, after the one that is running, for the changed projects. */
  run(projects: Iterable<string>): void
  /** Resolves once nothing runs. */
  idle(): Promise<void>
}

interface HookOptions {
  command: string
  /** `--out`, for the command's environment. */
  out: string
  timeoutMs: number
  signal: AbortSignal
  onProblem(message: string): void
}

/** Runs `--exec`, one at a time. A failed run is repeated until one succeeds. */
export function createHook(options: HookOptions): Hook {
  const pending = new Set<string>()
  let running: Promise<void> | undefined

  async function runAll(): Promise<void> {
    for (let pauseMs = firstPauseMs; pending.size > 0 && !options.signal.aborted; ) {
      const projects = [...pending]
      pending.clear()
      const problem = await runCommand(options, projects)
      if (problem === undefined) {
        pauseMs = firstPauseMs
        continue
      }
      for (const project of projects) pending.add(project)
      options.onProblem(`--exec ${problem}; trying again in ${pauseMs / 1_000} s.`)
      await delay(pauseMs, undefined, { signal: options.signal }).catch(() => undefined)
      pauseMs = Math.min(2 * pauseMs, maxPauseMs)
    }
    running = undefined
  }
  return {
    run(projects) {
      for (const project of projects) pending.add(project)
      running ??= runAll()
    },
    idle: async () => running,
  }
}

/**
 * Runs the command in a shell, with `JWKS_PROJECTS` (changed projects, separated by blanks) and
 * `JWKS_OUT`. Returns what went wrong.
 */
export function runCommand(
  { command, out, timeoutMs }: Pick<HookOptions, 'command' | 'out' | 'timeoutMs'>,
  projects: readonly string[],
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, {
      shell: true,
      // A group of its own, so that a hanging command is killed with its children.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, JWKS_PROJECTS: projects.join(' '), JWKS_OUT: out },
    })
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, timeoutMs)
    child.once('error', (error) => {
      clearTimeout(timer)
      resolve(`cannot be started: ${error.message}`)
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) return resolve(undefined)
      resolve(signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`)
    })
  })
}
