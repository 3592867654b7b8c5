import { resolve } from 'node:path'
import { type KeepContext, keep } from '@pubring/agents/keep/keep'
import { type Algorithm, jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { createSelfRotationRule } from '../admin/access-rules.ts'
import { type FailedCall, toCommandError } from '../connection/client-errors.ts'
import { projectCommandLine } from '../connection/command-lines.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { createSession, hasCode, unless } from '../connection/session.ts'
import { runAgent } from '../follow/agent.ts'
import { parseAddress } from '../follow/options.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { parseDurationOption } from '../terminal/times.ts'
import { readPrivateKey } from './private-keys.ts'

interface KeepFlags extends ConnectionFlags {
  every?: string
  /** In seconds. */
  tokenLifetime: number
  algorithm?: Algorithm
  from?: string
  exec?: string
  listen?: string
  once?: true
}

/** Names the credential of all turns but the first. */
const source = 'a token signed with the current key'

/** Keeps the signing key in the folder until the process is told to end, or does once what is due. */
export async function keepKey(terminal: Terminal, dir: string, flags: KeepFlags): Promise<void> {
  const { every, tokenLifetime, algorithm, from, exec, listen, once = false } = flags
  if (every === undefined && from === undefined) {
    throw usageError('Say with --every how long a key signs, or with --from who makes the keys.')
  }
  if (from === '-') throw usageError('--from must be a file, which is read again and again.')
  const connection = resolveConnection(terminal.env, flags)
  const { apiKey: _unused, idToken, ...place } = connection
  const { url, project } = place
  const options = {
    dir: resolve(dir),
    url,
    project,
    everyMs: every === undefined ? undefined : parseDurationOption(every, '--every') * 1_000,
    lifetimeMs: tokenLifetime * 1_000,
    alg: algorithm && jwsAlgorithmOf(algorithm),
    readFrom: from === undefined ? undefined : () => readPrivateKey(from, terminal),
    exec,
    listenAt: listen === undefined ? undefined : parseAddress(listen),
    once,
  }
  let call: FailedCall = { ...connection, terminal }
  const connect: KeepContext['connect'] = (prove) => {
    const isSelf = prove !== undefined && idToken === undefined
    if (!isSelf && place.apiKeySource === undefined) {
      const message = `No API key for ${url} is set, and no active key vouches for the next one.`
      const hints = ['Set PUBRING_API_KEY once. Later turns need none.']
      throw new CommandError('unauthorized', message, { code: 'missing_api_key', hints })
    }
    // It says nothing of each exchange.
    const quiet: Terminal = Object.create(terminal, { json: { value: true } })
    const self = isSelf && { apiKeySource: source, idToken: { source, claims: {}, read: prove } }
    const session = createSession(
      self ? quiet : terminal,
      self ? { ...place, ...self } : connection,
    )
    call = session
    return { ...session, isSelf }
  }
  const admit = `An admin of all projects must run: ${projectCommandLine(connection, 'access-rule create', '--self-rotation')}`
  const failureOf = (error: unknown) => {
    if (call.apiKeySource !== source || !hasCode(error, 'token_refused')) {
      return toCommandError(error, call)
    }
    const message =
      'The current key is not active, or compromised, or no access rule lets it vouch for the next one.'
    return new CommandError('unauthorized', message, { code: error.code, hints: [admit] })
  }
  const run = (context: Pick<KeepContext, 'clock' | 'signal' | 'report'>) =>
    keep(options, {
      ...context,
      connect,
      async allowSelfRotation(client, projectId) {
        // A workload with a token of its own needs no such rule.
        if (idToken !== undefined) return
        const created = createSelfRotationRule({ client, project: projectId })
        if ((await unless('insufficient_role', created)) !== undefined) return
        context.report(`Before the next turn: ${admit}`)
      },
      explain(error) {
        const failure = failureOf(error)
        if (failure instanceof CommandError) return [failure.message, ...failure.hints].join(' ')
        return error instanceof Error ? error.message : String(error)
      },
    }).catch((error) => {
      throw failureOf(error)
    })
  await runAgent(terminal, flags, run)
}
