import { readerAccess } from '../../kernel/access/grants.ts'
import { on } from '../../kernel/hooks.ts'
import { contextOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { recordPath } from '../../kernel/http/request/parameters.ts'
import { managedRecords, recordRoutes } from '../../kernel/http/routes/managed-records.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { replacements } from '../keys/changes.ts'
import { Rotation, RotationCreate, RotationUpdate } from './contract.ts'
import {
  abandonRotation,
  finishRotation,
  getRotation,
  listRotations,
  startRotation,
  updateRotation,
} from './operations.ts'
import { readRotations } from './reads.ts'
import { rotationEntityTag } from './stored.ts'

const rotations = managedRecords({
  collection: '/v1/projects/:projectIdOrName/rotations',
  type: { one: 'Rotation', many: 'Rotations' },
  noun: { bare: 'rotation', one: 'a rotation', many: 'rotations' },
  deletion: { verb: 'Abandon', done: 'abandoned' },
  access: { role: 'writer', auditor: false },
  recentSignIn: { create: 'never', update: 'never', delete: 'never' },
  readAccess: readerAccess,
  schemas: { shown: Rotation, created: Rotation, create: RotationCreate, update: RotationUpdate },
  notFound: 'rotation_not_found',
  createErrors: ['key_not_found', 'key_inactive', 'compromised_key', 'rotation_exists'],
  updateErrors: [],
  changeErrors: ['rotation_ended'],
  entityTag: rotationEntityTag,
  descriptions: {
    create:
      'Replaces the active key `from` by the active key `to`. Changes no key before it is finished.',
    list: 'Returns the rotations under way first, then the ended ones, each newest first; at most 200.',
    update: 'Only while the rotation is under way.',
    delete: 'The keys stay as they are.',
  },
  operations: {
    create: startRotation,
    list: listRotations,
    read: getRotation,
    update: updateRotation,
    delete: abandonRotation,
  },
})

export const hooks = [on(replacements, readRotations)]

export function routes(app: App, kernel: Kernel): void {
  recordRoutes(app, kernel, rotations)
  const { collection, access } = rotations
  app.route({
    method: 'POST',
    url: `${collection}/:id/finish`,
    config: {
      access: { ...access, recentSignIn: 'sometimes' },
      errors: ['rotation_not_found', 'rotation_ended', 'rotation_not_ready'],
    },
    schema: {
      operationId: 'finishRotation',
      summary: 'Finish a rotation',
      description:
        'Call this once every signer uses the new key. Sets the `expireTime` of the old key to the time at which its last token has expired: `tokenLifetime` from now. An earlier `expireTime` stays. Fails until every verifier that honors the cache headers knows the new key.',
      params: recordPath('rotation'),
      response: { 200: Rotation },
    },
    handler: async (request, reply) => {
      const own = contextOf(request, kernel)
      return reply.send(await finishRotation(own, projectOf(request).id, request.params.id))
    },
  })
}
