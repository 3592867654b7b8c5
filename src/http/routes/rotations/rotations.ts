import { Rotation, RotationCreate, RotationUpdate } from '../../../contract/rotations.ts'
import { Type } from '../../../contract/schema.ts'
import type { Context } from '../../../core/context.ts'
import { rotationEntityTag } from '../../../core/entity-tags.ts'
import {
  abandonRotation,
  finishRotation,
  getRotation,
  listRotations,
  scheduleRotation,
  startRotation,
} from '../../../core/rotations/operations.ts'
import { contextOf, projectOf } from '../../hooks/access.ts'
import type { App } from '../../options.ts'
import { Query, recordPath } from '../../request/paths.ts'
import { managedRecords, recordRoutes } from '../managed-records.ts'

const rotations = managedRecords({
  collection: '/v1/projects/:projectIdOrName/rotations',
  type: { one: 'Rotation', many: 'Rotations' },
  noun: { bare: 'rotation', one: 'a rotation', many: 'rotations' },
  deletion: { verb: 'Abandon', done: 'abandoned' },
  access: { role: 'writer' },
  readAccess: { role: 'reader' },
  schemas: { shown: Rotation, created: Rotation, create: RotationCreate, update: RotationUpdate },
  notFound: 'rotation_not_found',
  createErrors: [
    'recent_sign_in_required',
    'key_not_found',
    'key_inactive',
    'rotation_exists',
    'rotation_ended',
    'rotation_not_ready',
  ],
  updateErrors: ['recent_sign_in_required', 'rotation_not_ready'],
  changeErrors: ['rotation_ended'],
  entityTag: ({ id, updateTime, schedule }) => rotationEntityTag({ id, updateTime, ...schedule }),
  descriptions: {
    create:
      'Replaces the active key `from` by the active key `to`. Nothing changes but what the rotation schedules: `disableTime` and `deleteTime` are those of `from`. A scheduled step is taken in the name of its author and by the rules of the same step by hand. If they could not take it any more at that time, because their API key was revoked or demoted or has expired, or what gave them the right has changed, the rotation waits.',
    list: 'Returns the rotations under way first, then the ended ones, each newest first; at most 200.',
    update:
      'The caller becomes the author of all scheduled steps. Once the old key is off, only its deletion can be scheduled.',
    delete: 'The keys stay as they are.',
  },
  operations: {
    create: startRotation,
    list: listRotations,
    read: getRotation,
    update: scheduleRotation,
    delete: abandonRotation,
  },
})

const FinishQuery = Query({
  descendants: Type.Optional(
    Type.Boolean({
      description:
        'Whether the active keys that the old key vouched for are deactivated too, apart from the new key. Required if there are any, unless the schedule decides it.',
    }),
  ),
})

export function rotationRoutes(app: App, context: Context): void {
  recordRoutes(app, context, rotations)
  const { collection, access } = rotations
  app.route({
    method: 'POST',
    url: `${collection}/:id/finish`,
    config: {
      access,
      errors: [
        'recent_sign_in_required',
        'rotation_not_found',
        'rotation_ended',
        'rotation_not_ready',
        'key_not_found',
        'key_has_descendants',
      ],
    },
    schema: {
      operationId: 'finishRotation',
      summary: 'Finish a rotation',
      description:
        'Deactivates the old key now. Fails until every verifier that honors the cache headers knows the new one.',
      params: recordPath('rotation'),
      querystring: FinishQuery,
      response: { 200: Rotation },
    },
    handler: async (request, reply) => {
      const { id } = request.params
      const { descendants } = request.query
      const own = contextOf(request, context)
      return reply.send(await finishRotation(own, projectOf(request).id, id, descendants))
    },
  })
}
