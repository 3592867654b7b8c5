import { dirname, join, resolve } from 'node:path'
import type { FollowOptions } from '@pubring/agents/follow/follow'
import { formats, templateProblem } from '@pubring/agents/follow/formats'
import type { SideFile } from '@pubring/agents/follow/state'
import type { OutputOptions } from '@pubring/agents/follow/write-files'
import { hookTimeoutMs } from '@pubring/agents/hook'
import { parseHead } from '@pubring/client/internal/key-set/head'
import type { LogOptions } from '@pubring/client/internal/key-set/options'
import { parseVerifierKey } from '@pubring/client/log'
import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import { parseId } from '@pubring/server/kernel/values/ids'
import { fileError, parseChoice, usageError } from '../terminal/failures.ts'
import { readText } from '../terminal/files.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'

/** The flags of `jwks follow`. */
export interface FollowFlags {
  out?: string
  format: string
  template?: string
  algorithm?: string[]
  exec?: string
  listen?: string
  onStale?: string
  staleAfter: string
  state?: string
  acceptHistory?: string[]
  logKey?: string
  witnessKey?: string[]
  once?: true
}

/** Throws a usage error if an option is invalid. */
export async function readFollowOptions(
  url: string,
  projects: readonly string[],
  flags: FollowFlags,
  terminal: Terminal,
): Promise<FollowOptions> {
  if (new Set(projects).size < projects.length) throw usageError('A project is named twice.')
  if (flags.out === undefined && flags.listen === undefined) {
    throw usageError('Name a file with --out, or an address with --listen HOST:PORT.')
  }
  if (flags.once === true && flags.listen !== undefined) {
    throw usageError('--once and --listen exclude each other.')
  }
  // With --log-key, a proof that is kept back must not keep a revoked key.
  const { onStale = flags.logKey === undefined ? 'keep' : 'empty' } = flags
  return {
    url,
    projects,
    output: await readOutput(projects, flags, terminal),
    exec: flags.exec,
    out: flags.out === undefined ? '' : resolve(flags.out),
    timeoutMs: hookTimeoutMs,
    listenAt: flags.listen === undefined ? undefined : parseAddress(flags.listen),
    onStale: parseChoice(onStale, ['keep', 'empty'], '--on-stale'),
    staleAfterMs: parseDurationOption(flags.staleAfter, '--stale-after', '0') * 1_000,
    stateFile: stateFileOf(projects, flags),
    heartbeatFile: besideKeys('heartbeat', projects, flags),
    acceptedHistory: (flags.acceptHistory ?? []).map(parseAcceptedHead),
    log: await readLogOptions(projects, flags),
  }
}

function parseAcceptedHead(text: string): string {
  if (parseHead(text)?.hashStart !== undefined) return text
  throw usageError('--accept-history must be REVISION.HASH8, as the follower prints it.')
}

async function readLogOptions(
  projects: readonly string[],
  { logKey, witnessKey = [] }: FollowFlags,
): Promise<LogOptions | undefined> {
  if (logKey === undefined && witnessKey.length > 0) {
    throw usageError('--witness-key needs --log-key.')
  }
  if (logKey === undefined) return undefined
  const name = projects.find((project) => parseId(project) === undefined)
  if (name !== undefined) {
    throw usageError(
      `--log-key needs the id of each project, and ${name} is none: only the server says which project has a name. The issuer of its tokens ends with the id; "pubring project show ${name}" prints it.`,
    )
  }
  for (const key of [logKey, ...witnessKey]) {
    await parseVerifierKey(key).catch(() => {
      throw usageError(`${key} is not a verifier key. "pubring log key" prints the one of the log.`)
    })
  }
  return { key: logKey, witnesses: witnessKey }
}

function stateFileOf(projects: readonly string[], flags: FollowFlags): SideFile | undefined {
  if (flags.state === undefined) return besideKeys('state', projects, flags)
  const path = resolve(flags.state)
  return { root: dirname(path), path }
}

/** `OUT.NAME`, or `.NAME` in `--out` if that is a folder. */
function besideKeys(
  name: string,
  projects: readonly string[],
  { out, format }: FollowFlags,
): SideFile | undefined {
  if (out === undefined) return undefined
  const path = resolve(out)
  const isFolder = format === 'pem-dir' || (format === 'jwks' && projects.length > 1)
  return { root: dirname(path), path: isFolder ? join(path, `.${name}`) : `${path}.${name}` }
}

async function readOutput(
  projects: readonly string[],
  { out, format: name, template: file, algorithm = [] }: FollowFlags,
  terminal: Terminal,
): Promise<OutputOptions | undefined> {
  const format = formats[name]
  if (format === undefined) {
    throw usageError(`--format must be one of ${Object.keys(formats).join(', ')}.`)
  }
  const algorithms = algorithm.map((one) => parseChoice(one, jwsAlgorithmNames, '--algorithm'))
  if (out === undefined) return undefined
  const needsTemplate = name === 'envoy-lds'
  if (needsTemplate !== (file !== undefined)) {
    throw usageError('--format envoy-lds needs --template FILE, and no other format takes one.')
  }
  const template = file === undefined ? '' : await readTemplate(file, projects, terminal)
  return { format, out: resolve(out), projectCount: projects.length, template, algorithms }
}

async function readTemplate(
  file: string,
  projects: readonly string[],
  terminal: Terminal,
): Promise<string> {
  const text = await readText(file, terminal)
  const problem = templateProblem(text, projects)
  if (problem !== undefined) throw fileError(`${file} ${problem}.`)
  return text
}

export function parseAddress(text: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) {
    throw usageError('--listen must be HOST:PORT, such as 127.0.0.1:8081.')
  }
  return { host, port: Number(port) }
}
