import type { FastifyRequest } from 'fastify'
import type { Static, TObject, TProperties, TString } from 'typebox'
import { Type } from '../../contract/schema.ts'
import type { Access } from '../../core/access/grants.ts'
import type { Principal, RequestContext } from '../../core/access/principal.ts'
import type { Context } from '../../core/context.ts'
import { recordEntityTag } from '../../core/entity-tags.ts'
import type { Submitted } from '../../core/faults.ts'
import type { RecordReference } from '../../core/records.ts'
import type { ErrorCode } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import { anyObjectAsBody, bodyReader } from '../body/submissions.ts'
import { contextOf, principalOf } from '../hooks/access.ts'
import type { App } from '../options.ts'
import { Precondition, preconditionOf, recordPath } from '../request/paths.ts'

/** A kind of record that callers manage: its schemas, its operations, and what is said of them. */
interface ManagedRecords<
  Shown extends TObject,
  Created extends TObject,
  Create extends TObject,
  Update extends TObject,
> {
  /** Path of the collection. */
  collection: `/v1/${string}`
  /** In the ids of operations. */
  type: { one: string; many: string }
  /** In sentences, `one` with its article. */
  noun: { bare: string; one: string; many: string }
  /** What a deletion is called. */
  deletion: { verb: string; done: string }
  access: Access
  /** Of reads; the same if absent. */
  readAccess?: Access
  schemas: { shown: Shown; created: Created; create: Create; update: Update }
  /** The response of a creation holds a secret, which no cache may store. */
  createsSecret?: true
  notFound: ErrorCode
  /** Errors of creations and updates; by default those of giving rights. */
  createErrors?: readonly ErrorCode[]
  updateErrors?: readonly ErrorCode[]
  /** Errors of updates and deletions besides those of every kind. */
  changeErrors?: readonly ErrorCode[]
  entityTag?(record: Static<Shown>): string
  descriptions: Record<'create' | 'list' | 'update' | 'delete', string> & { read?: string }
  operations: {
    // `projectId`: the project in the path; empty if there is none.
    create(
      context: RequestContext,
      body: Submitted<Static<Create>>,
      projectId: string,
    ): Promise<Static<Created>>
    list(context: Context, principal: Principal, projectId: string): Promise<Static<Shown>[]>
    read(
      context: Context,
      principal: Principal,
      id: string,
      projectId: string,
    ): Promise<Static<Shown>>
    update(
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

/**
 * Checks that the operations of a kind match its schemas. The file is long because it has the five
 * operations that all kinds share.
 */
export function managedRecords<
  Shown extends TObject<Identified>,
  Created extends TObject<Identified>,
  Create extends TObject,
  Update extends TObject,
>(kind: ManagedRecords<Shown, Created, Create, Update>): AnyRecords {
  return kind
}

/** Registers the operations of a kind. Long because it lists the routes. */
export function recordRoutes(app: App, context: Context, kind: AnyRecords): void {
  const { collection, type, noun, deletion, access, notFound } = kind
  const { schemas, descriptions, operations, entityTag = recordEntityTag } = kind
  const { createErrors, updateErrors = grantErrors, changeErrors = [] } = kind
  const url = `${collection}/:id`
  const params = recordPath(noun.bare)
  const readNew = bodyReader(schemas.create)
  app.route({
    method: 'POST',
    url: collection,
    config: {
      access,
      errors: createErrors ?? [...grantErrors, 'project_not_found'],
      headers: ['Location', 'ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: `create${type.one}`,
      summary: `Create ${noun.one}`,
      description: descriptions.create,
      body: schemas.create,
      response: { 201: schemas.created },
    },
    handler: async (request, reply) => {
      const projectId = projectIdOf(request)
      const own = contextOf(request, context)
      const record = await operations.create(own, readNew(request.body), projectId)
      const path = collection.replace(':projectIdOrName', projectId)
      if (kind.createsSecret) reply.header('cache-control', 'no-store')
      return reply
        .code(201)
        .header('location', `${context.config.publicUrl}${path}/${record.id}`)
        .header('etag', entityTag(record))
        .send(record)
    },
  })
  app.route({
    method: 'GET',
    url: collection,
    config: { access: kind.readAccess ?? access },
    schema: {
      operationId: `list${type.many}`,
      summary: `List ${noun.many}`,
      description: descriptions.list,
      response: { 200: Type.Array(schemas.shown) },
    },
    handler: async (request, reply) =>
      reply.send(await operations.list(context, principalOf(request), projectIdOf(request))),
  })
  app.route({
    method: 'GET',
    url,
    config: { access: kind.readAccess ?? access, errors: [notFound], headers: ['ETag'] },
    schema: {
      operationId: `get${type.one}`,
      summary: `Read ${noun.one}`,
      ...present({ description: descriptions.read }),
      params,
      response: { 200: schemas.shown },
    },
    handler: async (request, reply) => {
      const { id } = request.params
      const record = await operations.read(context, principalOf(request), id, projectIdOf(request))
      return reply.header('etag', entityTag(record)).send(record)
    },
  })
  const readPatch = bodyReader(schemas.update)
  app.route({
    method: 'PATCH',
    url,
    config: {
      access,
      errors: [...updateErrors, notFound, ...changeErrors, 'precondition_failed'],
      headers: ['ETag'],
    },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: `update${type.one}`,
      summary: `Change ${noun.one}`,
      description: descriptions.update,
      params,
      headers: Precondition,
      body: schemas.update,
      response: { 200: schemas.shown },
    },
    handler: async (request, reply) => {
      const patch = readPatch(request.body)
      const caller = contextOf(request, context)
      const reference = referenceOf(request)
      const record = await operations.update(caller, reference, patch, projectIdOf(request))
      return reply.header('etag', entityTag(record)).send(record)
    },
  })
  app.route({
    method: 'DELETE',
    url,
    config: { access, errors: [notFound, ...changeErrors, 'precondition_failed'] },
    schema: {
      operationId: `delete${type.one}`,
      summary: `${deletion.verb} ${noun.one}`,
      description: descriptions.delete,
      params,
      headers: Precondition,
      response: { 204: Type.Null({ description: `The ${noun.bare} is ${deletion.done}.` }) },
    },
    handler: async (request, reply) => {
      const own = contextOf(request, context)
      await operations.delete(own, referenceOf(request), projectIdOf(request))
      return reply.code(204).send(null)
    },
  })
}

/** Of creations and updates that give rights. */
const grantErrors: readonly ErrorCode[] = ['insufficient_lifetime', 'recent_sign_in_required']

function projectIdOf({ project }: FastifyRequest): string {
  return project?.id ?? ''
}

function referenceOf(request: FastifyRequest<{ Params: { id: string } }>): RecordReference {
  return { id: request.params.id, ...preconditionOf(request) }
}
