import { resolve } from 'node:path'
import { hookTimeoutMs } from '@pubring/agents/hook'
import { type KeepContext, keepOnce, keepUntilAborted } from '@pubring/agents/keep/keep'
import { type Algorithm, jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { createSelfRotationRule } from '../admin/access-rules.ts'
import { toCommandError } from '../connection/client-errors.ts'
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

/** Keeps the signing key in the folder until the process is told to end, or does once what is due. */
export async function keepKey(terminal: Terminal, dir: string, flags: KeepFlags): Promise<void> {
  const { every, tokenLifetime, algorithm, from, exec, listen, once } = flags
  if (every === undefined && from === undefined) {
    throw usageError('Say with --every how long a key signs, or with --from who makes the keys.')
  }
  if (from === '-') throw usageError('--from must be a file, which is read again and again.')
  const connection = resolveConnection(terminal.env, flags)
  const options = {
    dir: resolve(dir),
    url: connection.url,
    project: connection.project,
    everyMs: every === undefined ? undefined : parseDurationOption(every, '--every') * 1_000,
    lifetimeMs: tokenLifetime * 1_000,
    alg: algorithm && jwsAlgorithmOf(algorithm),
    readFrom: from === undefined ? undefined : () => readPrivateKey(from, terminal),
    exec,
    timeoutMs: hookTimeoutMs,
    listenAt: listen === undefined ? undefined : parseAddress(listen),
  }
  const { apiKey: _unused, idToken, ...place } = connection
  const source = 'a token signed with the current key'
  const connect: KeepContext['connect'] = (prove) => {
    if (prove !== undefined && idToken === undefined) {
      const self = { ...place, apiKeySource: source, idToken: { source, claims: {}, read: prove } }
      // It says nothing of each exchange.
      const quiet: Terminal = Object.create(terminal, { json: { value: true } })
      return { ...createSession(quiet, self), isSelf: true }
    }
    if (connection.apiKeySource === undefined) {
      const message = `No API key for ${connection.url} is set, and no active key vouches for the next one.`
      const hints = ['Set PUBRING_API_KEY once. Later turns need none.']
      throw new CommandError('unauthorized', message, { code: 'missing_api_key', hints })
    }
    return { ...createSession(terminal, connection), isSelf: false }
  }
  const admit = `An admin of all projects must run: ${projectCommandLine(connection, 'access-rule create', '--self-rotation')}`
  const failureOf = (error: unknown) => {
    const failed = toCommandError(error, { ...connection, apiKeySource: source, terminal })
    if (idToken !== undefined || !hasCode(error, 'token_refused')) return failed
    const message =
      'The current key is not active, or no access rule lets it vouch for the next one.'
    return new CommandError('unauthorized', message, { code: error.code, hints: [admit] })
  }
  await runAgent(terminal, flags, (context) => {
    const keep = once === true ? keepOnce : keepUntilAborted
    return keep(options, {
      ...context,
      connect,
      async allowSelfRotation({ client }, project) {
        // A workload with a token of its own needs no such rule.
        if (idToken !== undefined) return
        const created = createSelfRotationRule({ client, project })
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
  })
}
