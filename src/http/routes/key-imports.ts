import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { type TObject, Type } from 'typebox'
import { KeyImport, KeyImportItem, KeyImportReport } from '../../contract/key-imports.ts'
import type { Context } from '../../core/context.ts'
import {
  type ImportEntry,
  importKeys,
  requireImportSize,
  requireRestoreRights,
} from '../../core/keys/imports.ts'
import { faultsOf, validator } from '../body/validation.ts'
import { originOf, principalOf, projectOf } from '../hooks/access.ts'
import type { App, HttpOptions } from '../options.ts'
import { ProjectPath } from '../request/paths.ts'

/** What the whole of a body must be; each key is then judged by itself. */
const Envelope = Type.Object(
  { keys: Type.Array(Type.Unknown()), dryRun: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
)

export function keyImportRoutes(
  app: App,
  context: Context,
  { importBodyLimit }: HttpOptions,
): void {
  app.route<{ Body: { keys: unknown[]; dryRun?: boolean } }>({
    method: 'POST',
    url: '/v1/projects/:projectIdOrName/key-imports',
    ...(importBodyLimit === undefined ? {} : { bodyLimit: importBodyLimit }),
    config: {
      access: { role: 'writer' },
      cost: 50,
      errors: ['import_refused', 'private_key_submitted', 'overloaded'],
    },
    validatorCompiler: envelopeValidator,
    schema: {
      operationId: 'importJwtKeys',
      summary: 'Register many JWT public keys, all or none',
      description:
        'Each key as in registering one, with the same codes; every refused one is named by `errors[].pointer` (`/keys/5/publicKeyPem`) in the one error `import_refused`. Keys that the project has already are `present` and left as they are, so that an import can be repeated. `kid`, `createTime` and `updateTime` are for an admin of all projects: keys that come back home. A `kid` that other material has or ever had is refused with the code `kid_taken`.',
      tags: ['JWT keys'],
      params: ProjectPath,
      body: KeyImport,
      response: { 200: KeyImportReport },
    },
    handler: async (request, reply) => {
      const { keys, dryRun = false } = request.body
      requireRestoreRights(principalOf(request), keys)
      requireImportSize(context, keys.length)
      const about = { projectId: projectOf(request).id, dryRun }
      const origin = originOf(request, context)
      return reply.send(await importKeys(context, about, origin, keys.map(entryOf)))
    },
  })
}

const envelopeValidator: FastifySchemaCompiler<FastifySchema> = ({ schema, httpPart = '' }) =>
  validator({ schema: httpPart === 'body' ? Envelope : (schema as TObject), httpPart })

const itemFaults = faultsOf<KeyImportItem>(KeyImportItem, 'The key')

function entryOf(item: unknown): ImportEntry {
  const judged = itemFaults(item)
  return 'value' in judged ? { item: judged.value } : { ...judged, text: JSON.stringify(item) }
}
