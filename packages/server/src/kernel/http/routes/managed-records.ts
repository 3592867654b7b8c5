import type {
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifySchemaCompiler,
  FastifyTypeProviderDefault,
} from 'fastify'
import type { Static, TObject, TProperties, TString } from 'typebox'
import type { ErrorCode } from '../../../errors.ts'
import { present } from '../../../runtime/present.ts'
import type { Access, RecentSignIn } from '../../access/grants.ts'
import type { Principal, RequestContext } from '../../access/principal.ts'
import type { Context } from '../../context.ts'
import { Type } from '../../contract.ts'
import { recordEntityTag } from '../../entity-tags.ts'
import type { Submitted } from '../../faults.ts'
import type { Kernel } from '../../kernel.ts'
import type { RecordReference } from '../../records.ts'
import { anyObjectAsBody, bodyReader } from '../body/validation.ts'
import { contextOf, principalOf } from '../hooks/access.ts'
import type { App } from '../options.ts'
import { Precondition, preconditionOf, Query, recordPath } from '../request/parameters.ts'

/**
 * A kind of record that callers manage, with its operations. Records that they cannot update have no entity
 * tag, and no precondition for a deletion.
 */
interface ManagedRecords<
  Shown extends TObject,
  Created extends TObject,
  Create extends TObject,
  Update extends TObject,
> extends Pick<Resource, 'collection' | 'type' | 'noun' | 'deletion' | 'queries' | 'descriptions'> {
  access: Access
  /** Whether changes of a session need a recent sign-in. */
  recentSignIn: Record<'create' | 'delete', RecentSignIn> & { update?: RecentSignIn }
  /** The access that reads require; the same if absent. They are open to auditors. */
  readAccess?: Access
  schemas: { shown: Shown; created: Created; create: Create; update?: Update }
  /** The response of a creation holds a secret, which no cache may store. */
  createsSecret?: true
  notFound: ErrorCode
  /** Errors of creations besides those of giving rights. */
  createErrors?: readonly ErrorCode[]
  /** Errors of updates; by default those of giving rights. */
  updateErrors?: readonly ErrorCode[]
  /** Errors of updates and deletions besides those of every kind. */
  changeErrors?: readonly ErrorCode[]
  /** Updates and deletions may take access, also that of the caller (`requireAccessLeft`). */
  givesAccess?: true
  entityTag?(record: Static<Shown>): string
  operations: {
    // `projectId`: the project in the path; empty if there is none.
    create(
      context: RequestContext,
      body: Submitted<Static<Create>>,
      projectId: string,
    ): Promise<Static<Created>>
    list(
      context: Context,
      principal: Principal,
      projectId: string,
      query: unknown,
    ): Promise<Static<Shown>[]>
    read(
      context: Context,
      principal: Principal,
      id: string,
      projectId: string,
    ): Promise<Static<Shown>>
    update?(
      context: RequestContext,
      record: RecordReference,
      patch: Submitted<Static<Update>>,
      projectId: string,
    ): Promise<Static<Shown>>
    delete(context: RequestContext, record: RecordReference, projectId: string): Promise<void>
  }
}

interface Identified extends TProperties {
  id: TString
}

type AnyRecords = ManagedRecords<TObject<Identified>, TObject<Identified>, TObject, TObject>

/** Checks that the operations of a kind match its schemas. */
export function managedRecords<
  Shown extends TObject<Identified>,
  Created extends TObject<Identified>,
  Create extends TObject,
  Update extends TObject,
>(kind: ManagedRecords<Shown, Created, Create, Update>): AnyRecords {
  return kind
}

/** Registers the operations of a kind. */
export function recordRoutes(app: App, kernel: Kernel, kind: AnyRecords): void {
  const { access, notFound, createErrors = [], updateErrors = grantErrors, givesAccess } = kind
  const { changeErrors = givesAccess ? accessErrors : [] } = kind
  const { recentSignIn } = kind
  const reads = { access: { ...(kind.readAccess ?? access), auditor: true } }
  const changing = (operation: keyof typeof recentSignIn) => ({
    ...access,
    ...present({ recentSignIn: recentSignIn[operation] }),
  })
  const resource = {
    ...kind,
    member: `${kind.collection}/:id` as const,
    params: recordPath(kind.noun.bare),
    queries: {
      ...kind.queries,
      ...(givesAccess && { update: Confirmation, delete: Confirmation }),
    },
    validatorCompiler: anyObjectAsBody,
    config: {
      create: {
        access: changing('create'),
        errors: givesAccess
          ? ([...grantErrors, 'project_not_found', ...createErrors] as const)
          : createErrors,
      },
      list: reads,
      read: { ...reads, errors: [notFound] },
      update: {
        access: changing('update'),
        errors: [...updateErrors, notFound, ...changeErrors],
      },
      delete: { access: changing('delete'), errors: [notFound, ...changeErrors] },
    },
  }
  resourceRoutes(app, resource, handlersOf(kernel, kind))
}

function handlersOf(kernel: Kernel, kind: AnyRecords): Handlers {
  const { collection, schemas, operations, entityTag = recordEntityTag } = kind
  const readNew = bodyReader(schemas.create)
  const readPatch = schemas.update && bodyReader(schemas.update)
  const tagged = (reply: FastifyReply, record: Static<typeof schemas.shown>) =>
    (readPatch === undefined ? reply : reply.header('etag', entityTag(record))).send(record)
  return {
    async create(request, reply) {
      const projectId = projectIdOf(request)
      const own = contextOf(request, kernel)
      const record = await operations.create(own, readNew(request.body), projectId)
      const path = collection.replace(':projectIdOrName', projectId)
      if (kind.createsSecret) reply.header('cache-control', 'no-store')
      reply.header('location', `${kernel.config.publicUrl}${path}/${record.id}`)
      return tagged(reply, record)
    },
    async list(request, reply) {
      const { query } = request
      const caller = principalOf(request)
      return reply.send(await operations.list(kernel, caller, projectIdOf(request), query))
    },
    async read(request: MemberRequest, reply) {
      const { id } = request.params
      const caller = principalOf(request)
      return tagged(reply, await operations.read(kernel, caller, id, projectIdOf(request)))
    },
    async update(request: MemberRequest, reply) {
      if (!readPatch || !operations.update) throw new Error('The route has no update.')
      const patch = readPatch(request.body)
      const own = contextOf(request, kernel)
      const projectId = projectIdOf(request)
      return tagged(reply, await operations.update(own, referenceOf(request), patch, projectId))
    },
    async delete(request: MemberRequest) {
      const own = contextOf(request, kernel)
      const { id } = request.params
      const record = operations.update === undefined ? { id } : referenceOf(request)
      await operations.delete(own, record, projectIdOf(request))
    },
  }
}

type MemberRequest = FastifyRequest<{
  Params: { id: string }
  Querystring: Pick<RecordReference, 'confirm'>
}>

/** Errors of updates and deletions that take rights. */
const accessErrors: readonly ErrorCode[] = ['last_admin', 'own_access']

/** Errors of creations and updates that give rights. */
const grantErrors: readonly ErrorCode[] = ['insufficient_lifetime']

function projectIdOf({ project }: FastifyRequest): string {
  return project?.id ?? ''
}

const Confirmation = Query({
  confirm: Type.Optional(
    Type.Enum(['self'], {
      description: 'Permits a change that takes access from the caller, which is 409 `own_access`.',
    }),
  ),
})

function referenceOf(request: MemberRequest): RecordReference {
  const { params, query } = request
  return { ...preconditionOf(request), ...present({ confirm: query.confirm }), id: params.id }
}

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
  /**
   * Bodies and responses; `listed` and `updated` are `shown` if absent. Without `update`, there is no PATCH,
   * no `ETag` and no precondition.
   */
  schemas: {
    create: TObject
    created: TObject
    /** The response to a dry run of a creation. */
    tried?: TObject
    listed?: TObject
    shown: TObject
    update?: TObject
    updated?: TObject
  }
  /** `anyObjectAsBody` if the handlers read the bodies with `bodyReader`. */
  validatorCompiler?: FastifySchemaCompiler<FastifySchema>
  queries?: { list?: TObject; create?: TObject; update?: TObject; delete?: TObject }
  descriptions: Record<'create' | 'list' | 'delete', string> & { read?: string; update?: string }
}

/** Methods, so that each may name the parameters and the query that its schemas have. */
interface Handlers {
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
  const { create, created, tried, shown, listed = shown, update, updated = shown } = schemas
  // The handlers state the types that the schemas give.
  const routes = app.withTypeProvider<FastifyTypeProviderDefault>()
  const bodies = present({ validatorCompiler: kind.validatorCompiler })
  const params = present({ params: kind.params })
  const tag = update === undefined ? [] : (['ETag'] as const)
  const change = { ...params, ...(update && { headers: Precondition }) }
  const changeErrors = (errors: FastifyContextConfig['errors'] = []) => ({
    errors: update === undefined ? errors : ([...errors, 'precondition_failed'] as const),
  })
  routes.route({
    method: 'POST',
    url: collection,
    config: { ...config.create, headers: ['Location', ...tag] },
    ...bodies,
    schema: {
      operationId: `create${type.one}`,
      summary: `${creation} ${noun.one}`,
      description: descriptions.create,
      ...present({ querystring: queries.create }),
      body: create,
      response: { 201: created, ...present({ 200: tried }) },
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
    config: { ...config.read, headers: tag },
    schema: {
      operationId: `get${type.one}`,
      summary: `Read ${noun.one}`,
      ...present({ description: descriptions.read }),
      ...params,
      response: { 200: shown },
    },
    handler: handlers.read,
  })
  if (update !== undefined) {
    routes.route({
      method: 'PATCH',
      url: member,
      config: { ...config.update, ...changeErrors(config.update.errors), headers: ['ETag'] },
      ...bodies,
      schema: {
        operationId: `update${type.one}`,
        summary: `Change ${noun.one}`,
        ...present({ description: descriptions.update }),
        ...change,
        ...present({ querystring: queries.update }),
        body: update,
        response: { 200: updated },
      },
      handler: handlers.update,
    })
  }
  routes.route({
    method: 'DELETE',
    url: member,
    config: { ...config.delete, ...changeErrors(config.delete.errors) },
    schema: {
      operationId: `delete${type.one}`,
      summary: `${deletion.verb} ${noun.one}`,
      description: descriptions.delete,
      ...change,
      ...present({ querystring: queries.delete }),
      response: { 204: Type.Null({ description: `The ${noun.bare} is ${deletion.done}.` }) },
    },
    handler: async (request, reply) => {
      await handlers.delete(request)
      return reply.code(204).send(null)
    },
  })
}
