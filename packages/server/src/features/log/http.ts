import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { createSingleFlight } from '../../async/single-flight.ts'
import { describeCause, type ErrorCode, PubringError } from '../../errors.ts'
import {
  auditAccess,
  type RecentSignIn,
  readerAccess,
  unboundAdmin,
} from '../../kernel/access/grants.ts'
import { parseProjectRef } from '../../kernel/access/projects.ts'
import { Type } from '../../kernel/contract.ts'
import { contextOf, ledgerOf } from '../../kernel/http/hooks/access.ts'
import { publicRoute } from '../../kernel/http/hooks/headers.ts'
import type { Meters } from '../../kernel/http/http-side.ts'
import type { App } from '../../kernel/http/options.ts'
import { Query } from '../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { systemLedgerId } from '../../kernel/ledger/chain.ts'
import { present } from '../../runtime/present.ts'
import { publishedFolder } from '../publishing/http/documents.ts'
import { readPublished } from '../publishing/names.ts'
import type { LogTree as Tree } from './changes.ts'
import { LedgerProof, LogTree } from './contract.ts'
import { faults, isStop, stopReason } from './faults.ts'
import { type Log, logOf } from './log.ts'
import { proveHead, proveLedger } from './proofs.ts'
import { readStarts, readTree } from './reads.ts'
import { readLogFile } from './tiles.ts'

/** Checkpoints change every minute at most; C2SP tlog-tiles asks for a few seconds. */
const checkpointMaxAge = 5

/** A year: the content of a tile never changes. */
const tileMaxAge = 31_536_000

const ProofQuery = Query({
  revision: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'Revision of the event to prove: the proof is of the first logged head with at least this revision. Default: the last logged head.',
    }),
  ),
})

/**
 * The log: public files for everyone, proofs for the readers of a ledger, operations for admins. Long
 * because it lists the routes.
 */
export function routes(app: App, kernel: Kernel): void {
  const log = logOf(kernel)
  const { reader } = kernel.store
  reportRuns(app, log)
  publicFiles(app, kernel)
  fileRoute(app, '/log/vkey', {
    schema: {
      operationId: 'getLogVerifierKey',
      summary: 'The verifier key of the log',
      description:
        'A "vkey" (C2SP signed-note) of the tree that grows. Get it from the operator once: reading it here at each use means trusting the server that answers.',
    },
    async read() {
      const current = await readTree(reader)
      return current && `${current.verifierKey}\n`
    },
  })
  // For verifiers without an API key: the secret of the ledger stays with its readers.
  fileRoute(app, `${publishedFolder}/ledger-proof`, {
    schema: {
      operationId: 'getPublishedLedgerProof',
      summary: 'Prove the latest key set of a project that the log has',
      description:
        'A C2SP tlog-proof of the last logged head of the ledger, with the list of the keys that the project publishes from then on, each with its `expireTime`. It shows that this entry of the log is the last one of the project, and not what happened. Who asks at each checkpoint sees when other branches of the map of last heads change.',
    },
    errors: ['project_not_found'],
    async read({ projectIdOrName = '' }) {
      const { projectId } = await readPublished(kernel, parseProjectRef(projectIdOrName))
      return proveHead(reader, projectId)
    },
  })
  const errors = ['not_logged', 'log_stopped'] as const
  const shared = { querystring: ProofQuery, response: { 200: LedgerProof } }
  app.route({
    method: 'GET',
    url: '/v1/projects/:projectIdOrName/ledger-proof',
    config: { access: readerAccess, ledger: true, errors },
    schema: {
      ...shared,
      operationId: 'getLedgerProof',
      summary: "Prove that the log has a project's ledger",
      description:
        'An entry of the log has the hash of an event, which covers all events before it. The proof contains the secret by which the entries of this ledger are found among all.',
    },
    handler: async (request, reply) =>
      reply.send(await proveLedger(reader, ledgerOf(request), request.query.revision)),
  })
  app.route({
    method: 'GET',
    url: '/v1/ledger-proof',
    config: { access: auditAccess, errors },
    schema: {
      ...shared,
      operationId: 'getSystemLedgerProof',
      summary: "Prove that the log has the registry's ledger",
    },
    handler: async (request, reply) =>
      reply.send(await proveLedger(reader, systemLedgerId, request.query.revision)),
  })
  adminRoute(app, '/v1/log/checkpoints', 'never', () => log.sign(), {
    operationId: 'createLogCheckpoint',
    summary: 'Sign a checkpoint of the log now',
    description:
      'It has everything that was acknowledged before the request. Without changes since the last checkpoint, that one is returned.',
  })
  const restart = (request: FastifyRequest) => log.restart(contextOf(request, kernel).origin)
  adminRoute(app, '/v1/log/restarts', 'always', restart, {
    operationId: 'restartLog',
    summary: 'Restart the log with a new key',
    description:
      'For a log that has stopped because it no longer extends what was signed, once a new key is in the place of the old one. Verifiers need its verifier key; proofs of the tree before stay valid.',
  })
}

/** A checkpoint of the tree that grows, and the files of each tree below its origin. */
function publicFiles(app: App, { store: { reader }, config }: Kernel): void {
  /** Throws `log_ended` for a tree that another one has followed. */
  async function treeOf({ id = '' }: FileParams): Promise<Tree | undefined> {
    const tree = /^[0-9a-f]{8}$/.test(id) ? await readTree(reader, id) : undefined
    if (tree?.endTime === undefined) return tree
    const { endTime, nextOrigin = '' } = tree
    const next = `${new URL(config.publicUrl).protocol}//${nextOrigin}`
    const start = (await readStarts(reader)).find(({ origin }) => origin === nextOrigin)
    const size = start?.previousSize === undefined ? '' : `, after ${start.previousSize} entries,`
    const detail = `This log ended at ${endTime}${size} and was restarted with another key. It goes on at ${next}: ask the operator why, and for its verifier key.`
    throw new PubringError('log_ended', detail, { endTime, next })
  }
  fileRoute(app, '/log/checkpoint', {
    schema: {
      operationId: 'getLogCheckpoint',
      summary: 'The current checkpoint of the log',
      description:
        'A signed tree head (C2SP tlog-checkpoint) over the heads of all ledgers. Its origin is the address of the tree, without the scheme: below it are the same checkpoint, the tiles of the tree and the bundles of its entries (C2SP tlog-tiles), `/log/ID/tile/LEVEL/N` and `/log/ID/tile/entries/N`.',
    },
    read: async () => (await readTree(reader))?.checkpoint,
  })
  fileRoute(app, '/log/:id/checkpoint', {
    schema: { hide: true },
    errors: ['log_ended'],
    read: async (params) => (await treeOf(params))?.checkpoint,
  })
  fileRoute(app, '/log/:id/tile/*', {
    schema: { hide: true },
    errors: ['log_ended'],
    async read(params) {
      const tree = await treeOf(params)
      return tree && readLogFile(reader, tree, `tile/${params['*'] ?? ''}`)
    },
  })
}

interface FileParams {
  id?: string
  '*'?: string
  projectIdOrName?: string
}

interface PublicFile {
  schema: FastifySchema
  errors?: readonly ErrorCode[]
  /** Text, which may change, or bytes, which do not; undefined if there is no such file. */
  read(params: FileParams): Promise<string | Uint8Array | undefined>
}

function fileRoute(app: App, url: string, { read, schema, errors = [] }: PublicFile): void {
  // A flood of equal requests costs one read at a time.
  const reads = createSingleFlight<string | Uint8Array | undefined>()
  publicRoute<FileParams>(app, {
    url,
    config: { errors: ['not_logged', 'log_stopped', 'storage_unavailable', ...errors] },
    schema: {
      ...schema,
      response: {
        200: { description: 'The file.', content: { 'text/plain': { schema: Type.String() } } },
      },
    },
    handler: async (request, reply) => {
      const { params } = request
      const body = await reads.run(JSON.stringify(params), () => read(params))
      if (body === undefined) {
        const detail =
          'The log has no such file. Its checkpoint says how many entries its tiles have.'
        throw new PubringError('not_logged', detail)
      }
      const isText = typeof body === 'string'
      const reuse = isText ? `max-age=${checkpointMaxAge}` : `max-age=${tileMaxAge}, immutable`
      return reply
        .header('content-type', isText ? 'text/plain; charset=utf-8' : 'application/octet-stream')
        .header('cache-control', `public, ${reuse}`)
        .send(isText ? body : Buffer.from(body))
    },
  })
}

function adminRoute(
  app: App,
  url: string,
  recentSignIn: RecentSignIn,
  sign: (request: FastifyRequest) => Promise<Tree>,
  schema: FastifySchema,
): void {
  app.route({
    method: 'POST',
    url,
    config: { access: { ...unboundAdmin, recentSignIn }, errors: ['log_stopped'] },
    schema: { ...schema, response: { 201: LogTree } },
    handler: async (request, reply) => {
      const { checkpoint = '', checkpointSize: size, origin, verifierKey } = await sign(request)
      return reply.code(201).send({ origin, verifierKey, size, checkpoint })
    },
  })
}

export function metrics(kernel: Kernel, { gauge }: Meters): void {
  const log = logOf(kernel)
  gauge({
    name: 'pubring_log_stopped',
    help: '1 if the last attempt to sign a checkpoint of the log has failed, with the code of the reason.',
    labelNames: ['reason'],
    read: () => {
      const reason = stopReason(log.state())
      return [[{ reason: reason ?? '' }, Number(reason !== undefined)]]
    },
  })
  gauge({
    name: 'pubring_log_witness_cosigned',
    help: '1 for a witness that has cosigned the last checkpoint of the log that it was sent.',
    labelNames: ['witness'],
    read: () =>
      log
        .witnesses()
        .map(({ name, outcome }) => [{ witness: name }, Number(outcome === 'cosigned')]),
  })
}

/** Logs when this process can no longer extend the transparency log, and when it can again. */
function reportRuns(app: FastifyInstance, log: Log): void {
  let current: string | undefined
  log.onRun(({ fault, error, cause }) => {
    if (error !== undefined) {
      const message = 'no checkpoint of the log could be signed'
      const cause = describeCause(error)
      app.countedLog.write({ level: 'error', code: 'log_failed', message, cause })
    } else if (fault !== current) {
      current = fault
      if (fault === undefined) app.log.info('checkpoints of the log are signed again')
      else if (isStop(fault))
        app.log.error(
          { code: fault, ...present({ cause: describeCause(cause) }) },
          'the log has stopped: pubring doctor says what to do',
        )
      else app.log.warn({ code: fault }, `the log is not signed here: ${faults[fault]}`)
    }
  })
  reportWitnesses(app, log)
}

/** The line for each outcome of a witness, logged when it differs from the one before. */
const witnessLines = {
  cosigned: ['info', 'a witness cosigns the log again'],
  failed: ['warn', 'a witness did not cosign the log'],
  contradicted: ['error', 'a witness contradicts the log'],
} as const

function reportWitnesses(app: FastifyInstance, log: Log): void {
  const outcomes = new Map<string, string>()
  log.onRun(() => {
    for (const result of log.witnesses()) {
      const { name: witness, outcome } = result
      const before = outcomes.get(witness) ?? 'cosigned'
      outcomes.set(witness, outcome)
      if (outcome === before) continue
      const [level, message] = witnessLines[outcome]
      app.log[level]({ witness, ...('reason' in result && { reason: result.reason }) }, message)
    }
  })
}
