import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '../../core/context.ts'
import { createCachedReads } from '../reads/cached.ts'
import { createStoreReads } from '../reads/store.ts'
import { parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { openDatabase, type PostgresDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { sqlState } from './errors.ts'
import { createBatchedHeads } from './heads.ts'
import { migratePostgres } from './migrate.ts'
import type { ServerInfo } from './pool.ts'
import { withReplicaReads } from './replica-reads.ts'

/** Milliseconds for which a start waits for the database: it may be starting or failing over too. */
const startPatience = 10_000

export interface PostgresOptions {
  /** `postgres://…` */
  url: string
  /** Of servers that follow the primary: what is published may be read there. */
  replicaUrl?: string
}

/**
 * The store in a PostgreSQL database, 14 or later, shared with any number of processes. Its schema
 * is brought up to date. Rejects with one line for a person where the database cannot be used.
 */
export async function openPostgresStore({ url, replicaUrl }: PostgresOptions): Promise<Store> {
  const address = parsePostgresAddress(url)
  const sessions = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(sessions)
    await migratePostgres(sessions)
  } catch (error) {
    await sessions.close()
    const hopeless = refusal(error)
    throw hopeless === undefined ? error : new UnusableServer(hopeless)
  }
  const replica =
    replicaUrl === undefined ? undefined : openDatabase(parsePostgresAddress(replicaUrl), 'any')
  const reads = createStoreReads(createKysely(sessions.read))
  const store: Store = {
    ...reads,
    ...createCachedReads(reads, createBatchedHeads(sessions.read)),
    ...createCommit(sessions, address.poolSize),
    async close() {
      await Promise.all([sessions.close(), replica?.close()])
    },
  }
  return replica === undefined
    ? store
    : withReplicaReads(store, createStoreReads(createKysely(replica.read)))
}

/** Resolves when the server answers and is one that can be worked with. */
export async function waitUntilUsable(sessions: PostgresDatabase): Promise<void> {
  const deadline = performance.now() + startPatience
  for (;;) {
    try {
      return requireUsable(await sessions.serverInfo())
    } catch (error) {
      if (error instanceof UnusableServer) throw error
      const hopeless = refusal(error)
      if (hopeless !== undefined) throw new UnusableServer(hopeless)
      if (performance.now() >= deadline) {
        throw new UnusableServer('None of its hosts answered as a primary')
      }
    }
    await delay(250)
  }
}

class UnusableServer extends Error {
  constructor(reason: string) {
    super(`The PostgreSQL database cannot be used. ${reason}.`)
  }
}

function requireUsable({ version, encoding }: ServerInfo): void {
  if (version < 140_000) throw new UnusableServer('It must be of version 14 or later')
  if (encoding !== 'UTF8') throw new UnusableServer(`Its encoding must be UTF8, not ${encoding}`)
}

/** What waiting does not help against. */
function refusal(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const state = sqlState(cause) ?? ''
  const text = cause instanceof Error ? cause.message : ''
  if (state.startsWith('28') || text.startsWith('SASL')) {
    return 'It does not take this user with this password'
  }
  // pgbouncer says it without the SQLSTATE.
  if (state === '3D000' || /no such database|database .* does not exist/.test(text)) {
    return 'The server has no database of this name: make it, or correct it'
  }
  if (state === '42501') return 'Its user may not do what is needed (it needs CONNECT and CREATE)'
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (/CERT|TLS|SSL|UNABLE_TO/.test(code)) return `TLS failed: ${code}`
  if (/does not support SSL/.test(text)) return 'The server has no TLS, which sslmode asks for'
  return undefined
}
