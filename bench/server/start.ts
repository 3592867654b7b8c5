import { createReplicas, type Replica } from '../../test/support/server/replicas.ts'
import { pin } from './cores.ts'
import { type Database, type Engine, engineNames } from './databases.ts'

/** A running `pubring serve` under measurement. */
export interface BenchServer {
  name: string
  engine: Engine
  /** Whether it logs a line for each request, as by default. */
  logs: boolean
  port: number
  pids: number[]
  replica: Replica
  /** Restricts it to these cores. */
  pin(cores: string): void
  close(): Promise<void>
}

interface ServerOptions {
  logs?: boolean
  nodeOptions?: string
}

/** Starts a server on the database; resolves when it is ready. */
export async function startServer(
  database: Database,
  { logs = false, nodeOptions }: ServerOptions = {},
): Promise<BenchServer> {
  const replicas = createReplicas(database.url)
  const replica = await replicas.add({
    PUBRING_LOG_LEVEL: logs ? 'info' : 'warn',
    ...(nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions }),
  })
  const pids = [replica.pid]
  const { engine } = database
  return {
    name: `${engineNames[engine]}${logs ? ', logging' : ''}`,
    engine,
    logs,
    port: Number(new URL(replica.url).port),
    pids,
    replica,
    pin: (cores) => pin(pids, cores),
    close: () => replicas.close(),
  }
}
