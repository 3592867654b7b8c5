import { setTimeout as delay } from 'node:timers/promises'
import type { PostgresDatabase } from './database.ts'
import { sqlState } from './errors.ts'
import type { ServerInfo } from './pool.ts'

/** How long a start waits for the database, which may be starting or failing over too. */
const startTimeoutMs = 10_000

class UnusableDatabase extends Error {
  constructor(reason: string) {
    super(`The PostgreSQL database cannot be used. ${reason}.`)
  }
}

/** Waits for the server to respond. Rejects with the reason if the database cannot be used. */
export async function waitUntilUsable(database: PostgresDatabase): Promise<void> {
  const deadline = performance.now() + startTimeoutMs
  for (;;) {
    try {
      return requireUsable(await database.serverInfo())
    } catch (error) {
      const explained = explainStartError(error)
      if (explained instanceof UnusableDatabase) throw explained
      if (performance.now() >= deadline) {
        throw new UnusableDatabase('None of its hosts answered as a primary')
      }
    }
    await delay(250)
  }
}

function requireUsable({ version, encoding }: ServerInfo): void {
  if (version < 140_000) throw new UnusableDatabase('It must be PostgreSQL 14 or later')
  if (encoding !== 'UTF8') throw new UnusableDatabase(`Its encoding must be UTF8, not ${encoding}`)
}

/** Replaces an error that waiting does not resolve by one that says what to correct. */
export function explainStartError(error: unknown): unknown {
  const reason = reasonOf(error)
  return reason === undefined ? error : new UnusableDatabase(reason)
}

function reasonOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const state = sqlState(cause) ?? ''
  const text = cause instanceof Error ? cause.message : ''
  if (state.startsWith('28') || text.startsWith('SASL')) {
    return 'It rejected this user or password'
  }
  // pgbouncer sends no SQLSTATE.
  if (state === '3D000' || /no such database|database .* does not exist/.test(text)) {
    return 'The server has no database of this name: create it, or correct the name'
  }
  if (state === '42501') return 'Its user lacks a privilege that is needed (CONNECT or CREATE)'
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (/CERT|TLS|SSL|UNABLE_TO/.test(code)) return `TLS failed: ${code}`
  if (/does not support SSL/.test(text)) return 'The server has no TLS, which sslmode requires'
  return undefined
}
