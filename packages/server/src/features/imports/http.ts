import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { createPlaces, type Places } from '../../async/places.ts'
import { groupOf } from '../../intake/fair-queue.ts'
import { soleProject } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { bodyAs, bodyReader } from '../../kernel/http/body/validation.ts'
import { noPlace } from '../../kernel/http/faults.ts'
import { contextOf, principalOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { KeyImportItem } from '../keys/contract.ts'
import { KeyImport, KeyImportReport } from './contract.ts'
import { importKeys, requireImportSize, requireRestoreRights } from './operations.ts'

/** Schema of the body without its keys, which are validated one by one. */
const Envelope = Type.Object(
  { keys: Type.Array(Type.Unknown()), dryRun: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
)

/**
 * Imports whose bodies arrive or whose keys are examined, a quarter of them for one project's API
 * keys, or for one API key for all projects. This bounds the memory that they hold.
 */
const maxImports = { capacity: 16, share: 25 }

/** Bytes of a body: 1,000 keys of the longest kind. */
const maxImportBytes = 4 * 1024 * 1024

type ImportBody = Static<typeof Envelope>

export function routes(app: App, kernel: Kernel): void {
  const places = createPlaces(maxImports)
  app.route<{ Body: ImportBody }>({
    method: 'POST',
    url: '/v1/projects/:projectIdOrName/key-imports',
    bodyLimit: maxImportBytes,
    onRequest: async (request, reply) => takePlace(places, request, reply),
    config: {
      access: { role: 'writer', auditor: false, recentSignIn: 'sometimes' },
      cost: 50,
      changes: ({ body }) => (body as ImportBody).keys.length,
      errors: ['import_refused'],
    },
    validatorCompiler: bodyAs(Envelope),
    schema: {
      operationId: 'importJwtKeys',
      summary: 'Register many JWT public keys, all or none',
      description:
        'Checks each key as on registration, with the same codes. If any is rejected, nothing is imported and the error `import_refused` lists each one by `errors[].pointer` (`/keys/5/publicKeyPem`). Keys that the project already has are reported as `present` and left unchanged, so an import can be repeated. Only an admin API key for all projects may set `kid`, `createTime` and `updateTime`, to restore exported keys. A `kid` that any other key has or had is rejected with `kid_taken`.',
      body: KeyImport,
      response: { 200: KeyImportReport },
    },
    handler: async (request, reply) => {
      const { keys, dryRun = false } = request.body
      requireRestoreRights(principalOf(request), keys)
      requireImportSize(kernel, keys.length)
      const target = { projectId: projectOf(request).id, dryRun }
      const entries = keys.map(readEntry)
      return reply.send(await importKeys(contextOf(request, kernel), target, entries))
    },
  })
}

/** Takes a place until the response is sent or the client has left. */
function takePlace(places: Places, request: FastifyRequest, { raw: response }: FastifyReply): void {
  const { socket } = request.raw
  const { callerId, grants } = principalOf(request)
  if (socket.destroyed) return
  const release = places.take([groupOf({ callerId, projectId: soleProject(grants) })])
  if (typeof release === 'string') throw noPlace(release, refusals, 2)
  const end = () => {
    response.off('finish', end)
    socket.off('close', end)
    release()
  }
  response.once('finish', end)
  socket.once('close', end)
}

const refusals = {
  full: 'Too many imports are running. Nothing was changed. Try again in a few seconds.',
  share_used_up:
    'Your imports already have their share of those that may run. Send one after the other.',
}

const readEntry = bodyReader(KeyImportItem, 'The key')
