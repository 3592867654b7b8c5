import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

/** A command that runs longer is killed, and counts as failed, unless another user runs it. */
export const hookTimeoutMs = 60_000

/** Between two runs: a gateway may miss a reload that is requested during another, as HAProxy does. */
const firstPauseMs = 1_000
const maxPauseMs = 60_000

/** Linux limits a variable to 128 KiB: so many projects fit in one, whatever their names are. */
export const maxProjects = 1_000

interface HookOptions {
  command: string
  /** The command's environment, beside that of this process. */
  environment(projects: readonly string[]): Record<string, string>
  timeoutMs: number
  signal: AbortSignal
  onProblem(message: string): void
}

/**
 * A function that runs `--exec` for changed projects, a second after the last run at the earliest. A failed
 * run is repeated until one succeeds.
 */
export function createHook(options: HookOptions): (projects: readonly string[]) => void {
  const pending = new Set<string>()
  let isRunning = false

  async function runAll(): Promise<void> {
    isRunning = true
    for (let pauseMs = firstPauseMs; pending.size > 0 && !options.signal.aborted; ) {
      const projects = [...pending].slice(0, maxProjects)
      for (const project of projects) pending.delete(project)
      const problem = await runCommand(options, options.environment(projects))
      if (problem === undefined) {
        pauseMs = firstPauseMs
      } else {
        for (const project of projects) pending.add(project)
        options.onProblem(`--exec ${problem}; trying again in ${pauseMs / 1_000} s.`)
      }
      await delay(pauseMs, undefined, { signal: options.signal }).catch(() => undefined)
      if (problem !== undefined) pauseMs = Math.min(2 * pauseMs, maxPauseMs)
    }
    isRunning = false
  }
  return (projects) => {
    for (const project of projects) pending.add(project)
    if (!isRunning) void runAll()
  }
}

/** Runs the command in a shell, with these variables. Returns what went wrong. */
export async function runCommand(
  { command, timeoutMs }: Pick<HookOptions, 'command' | 'timeoutMs'>,
  variables: Record<string, string>,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  try {
    const child = spawn(command, {
      shell: true,
      // A group of its own, so that a hanging command is killed with its children.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...variables },
    })
    timer = setTimeout(() => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has just ended; or it belongs to root, as what sudo runs, and its end is waited for.
      }
    }, timeoutMs)
    const [code, signal] = await once(child, 'close')
    if (code === 0) return undefined
    return signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`
  } catch (error) {
    return `cannot be started: ${error instanceof Error ? error.message : error}`
  } finally {
    clearTimeout(timer)
  }
}
