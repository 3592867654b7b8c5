import type {
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifySchemaCompiler,
  FastifyTypeProviderDefault,
} from 'fastify'
import type { TObject } from 'typebox'
import { present } from '../../../runtime/present.ts'
import { Type } from '../../contract/schema.ts'
import type { App } from '../options.ts'
import { Precondition } from '../request/paths.ts'

type Operation = 'create' | 'list' | 'read' | 'update' | 'delete'

/** A kind of resource: the paths, the access and the schemas of its operations, and their descriptions. */
export interface Resource {
  /** Path of the collection. */
  collection: `/v1/${string}`
  /** Path of one resource. */
  member: `/v1/${string}`
  /** Parameters of that path besides the project. */
  params?: TObject
  /** The words in the ids of operations. */
  type: { one: string; many: string }
  /** The words in sentences, `one` with its article. */
  noun: { bare: string; one: string; many: string }
  /** The verb of a creation; `Create` if absent. */
  creation?: string
  /** The verb of a deletion, and its past participle. */
  deletion: { verb: string; done: string }
  /** `ETag`, `Location` and the faults of preconditions are added. */
  config: Record<Operation, FastifyContextConfig>
  /** Bodies and responses; `listed` and `updated` are `shown` if absent. */
  schemas: {
    create: TObject
    created: TObject
    listed?: TObject
    shown: TObject
    update: TObject
    updated?: TObject
  }
  /** `anyObjectAsBody` if the handlers read the bodies with `bodyReader`. */
  validatorCompiler?: FastifySchemaCompiler<FastifySchema>
  /** Query of the list, and of updates and deletions. */
  queries?: { list?: TObject }
  descriptions: Record<Exclude<Operation, 'read'>, string> & { read?: string }
}

/** Methods, so that each may name the parameters and the query that its schemas have. */
export interface Handlers {
  create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  list(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  read(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  update(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  /** Answers 204 afterwards. */
  delete(request: FastifyRequest): Promise<void>
}

/** Registers the operations of a kind. */
export function resourceRoutes(app: App, kind: Resource, handlers: Handlers): void {
  const { collection, member, type, noun, deletion, config, schemas, descriptions } = kind
  const { creation = 'Create', queries = {} } = kind
  const { create, created, shown, listed = shown, update, updated = shown } = schemas
  // The handlers state the types that the schemas give.
  const routes = app.withTypeProvider<FastifyTypeProviderDefault>()
  const bodies = present({ validatorCompiler: kind.validatorCompiler })
  const params = present({ params: kind.params })
  const change = { ...params, headers: Precondition }
  const changeErrors = (errors: FastifyContextConfig['errors'] = []) => ({
    errors: [...errors, 'precondition_failed'] as const,
  })
  routes.route({
    method: 'POST',
    url: collection,
    config: { ...config.create, headers: ['Location', 'ETag'] },
    ...bodies,
    schema: {
      operationId: `create${type.one}`,
      summary: `${creation} ${noun.one}`,
      description: descriptions.create,
      body: create,
      response: { 201: created },
    },
    handler: (request, reply) => handlers.create(request, reply.code(201)),
  })
  routes.route({
    method: ['GET', 'HEAD'],
    url: collection,
    config: config.list,
    schema: {
      operationId: `list${type.many}`,
      summary: `List ${noun.many}`,
      description: descriptions.list,
      ...present({ querystring: queries.list }),
      response: { 200: Type.Array(listed) },
    },
    handler: handlers.list,
  })
  routes.route({
    method: ['GET', 'HEAD'],
    url: member,
    config: { ...config.read, headers: ['ETag'] },
    schema: {
      operationId: `get${type.one}`,
      summary: `Read ${noun.one}`,
      ...present({ description: descriptions.read }),
      ...params,
      response: { 200: shown },
    },
    handler: handlers.read,
  })
  routes.route({
    method: 'PATCH',
    url: member,
    config: { ...config.update, ...changeErrors(config.update.errors), headers: ['ETag'] },
    ...bodies,
    schema: {
      operationId: `update${type.one}`,
      summary: `Change ${noun.one}`,
      description: descriptions.update,
      ...change,
      body: update,
      response: { 200: updated },
    },
    handler: handlers.update,
  })
  routes.route({
    method: 'DELETE',
    url: member,
    config: { ...config.delete, ...changeErrors(config.delete.errors) },
    schema: {
      operationId: `delete${type.one}`,
      summary: `${deletion.verb} ${noun.one}`,
      description: descriptions.delete,
      ...change,
      response: { 204: Type.Null({ description: `The ${noun.bare} is ${deletion.done}.` }) },
    },
    handler: async (request, reply) => {
      await handlers.delete(request)
      return reply.code(204).send(null)
    },
  })
}
