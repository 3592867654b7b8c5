import { intakeCodes } from '@pubring/intake/codes'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { projectAccess, readerAccess } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { anyObjectAsBody, bodyReader } from '../../kernel/http/body/validation.ts'
import { contextOf, principalOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { Meters } from '../../kernel/http/http-side.ts'
import type { App } from '../../kernel/http/options.ts'
import {
  KeyPath,
  ProjectPath,
  preconditionOf,
  Query,
} from '../../kernel/http/request/parameters.ts'
import { type Resource, resourceRoutes } from '../../kernel/http/routes/managed-records.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { intersect } from '../../kernel/values/validity.ts'
import type { KeyReference } from './changes.ts'
import {
  JwtKey,
  JwtKeyCreate,
  JwtKeyCreated,
  JwtKeyEnd,
  JwtKeyEnded,
  JwtKeyUpdate,
  JwtKeyUpdated,
  JwtKeyWithDetails,
  KeyStateEntry,
} from './contract.ts'
import {
  type KeyDocument,
  keyDocument,
  listDocument,
  type ReusableDocument,
  renderUpdate,
  statesDocument,
} from './documents.ts'
import { endKey } from './ending.ts'
import { createKey, deleteKey, toJwtKeyWithDetails, updateKey } from './operations.ts'
import { keyEntityTag } from './states.ts'

/** Long because it lists the handlers. */
export function routes(app: App, kernel: Kernel): void {
  addEnd(app, kernel)
  resourceRoutes(app, keys, {
    async create(request, reply) {
      const own = contextOf(request, kernel)
      const { time } = own.origin
      const key = await createKey(own, projectOf(request).id, readKey(request.body))
      const { publicUrl, jwksMaxAge } = kernel.config
      const location = `${publicUrl}/v1/projects/${key.projectId}/jwt-keys/${key.id}`
      const situation = { keys: [key], replacements: [], time, jwksMaxAge }
      const etag = keyEntityTag(key, toJwtKeyWithDetails(key, situation), time)
      return reply.headers({ location, etag }).send({ kid: key.id })
    },
    async list(request: FastifyRequest<{ Querystring: { active?: boolean } }>, reply) {
      const activeOnly = request.query.active === true
      const document = await listDocument(kernel, projectOf(request).id, { activeOnly })
      return sendReusable(request, reply, kernel, document)
    },
    async read(request: KeyRequest, reply) {
      const { link } = principalOf(request)
      const { kid } = request.params
      const document = await keyDocument(kernel, projectOf(request).id, kid, link)
      return sendReusable(request, reply, kernel, document)
    },
    async update(request: KeyRequest, reply) {
      const key = referenceOf(request)
      const update = await updateKey(contextOf(request, kernel), key, readPatch(request.body))
      return sendDocument(reply, await renderUpdate(kernel, update))
    },
    delete: (request: KeyRequest) => deleteKey(contextOf(request, kernel), referenceOf(request)),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/projects/:projectIdOrName/key-states',
    config: { access: readerAccess, etag: true },
    schema: {
      operationId: 'listKeyStates',
      summary: 'List the states of the keys of a project',
      description: 'Returns one entry for each key, in the order of the list of keys.',
      response: { 200: Type.Array(KeyStateEntry) },
    },
    handler: async (request, reply) => {
      const document = await statesDocument(kernel, projectOf(request).id)
      return sendReusable(request, reply, kernel, document)
    },
  })
}

/** By a proof of the key itself, so that its holder needs no other right to end it. */
function addEnd(app: App, kernel: Kernel): void {
  const spend = app.failureLimit({
    name: 'proofs',
    reason: 'Many proofs from your address were refused. A valid one would be accepted.',
  })
  app.route({
    method: 'POST',
    url: `${collection}/:kid/end`,
    config: { errors: ['invalid_proof', 'key_not_found'] },
    schema: {
      operationId: 'endKey',
      summary: 'Let a JWT key end itself',
      description:
        'Sets the `expireTime` of the key, or brings it nearer, by a token that the key signed. It needs no API key and no access rule, and permits nothing else. Without a valid token, a key that was never active is answered as one that does not exist.',
      params: Type.Object({ ...ProjectPath.properties, ...KeyPath.properties }),
      body: JwtKeyEnd,
      response: { 200: JwtKeyEnded },
    },
    handler: (request, reply) => {
      const { params, body, id: requestId } = request
      return endKey(kernel, { ...params, ...body, requestId }).catch((error) => {
        // Afterwards, so that bad proofs never keep out a good one from the same address.
        if (/^(invalid_proof|key_not_found)$/.test(error.code)) spend?.(request, reply)
        throw error
      })
    },
  })
}

const readKey = bodyReader(JwtKeyCreate)
const readPatch = bodyReader(JwtKeyUpdate)

/** Sends the text unchanged; the schema of the route describes it. */
function sendDocument(reply: FastifyReply, { body, etag }: KeyDocument) {
  return reply.header('content-type', 'application/json').header('etag', etag).send(body)
}

type KeyRequest = FastifyRequest<{ Params: { kid: string } }>

/** The key that the request changes, with its precondition. */
function referenceOf(request: KeyRequest): KeyReference {
  const { kid } = request.params
  return { projectId: projectOf(request).id, kid, ...preconditionOf(request) }
}

const collection = '/v1/projects/:projectIdOrName/jwt-keys'

const keys: Resource = {
  collection,
  member: `${collection}/:kid`,
  params: KeyPath,
  type: { one: 'JwtKey', many: 'JwtKeys' },
  noun: { bare: 'key', one: 'a JWT key', many: 'the JWT keys of a project' },
  creation: 'Register',
  deletion: { verb: 'Delete', done: 'deleted' },
  config: {
    create: {
      access: { role: 'registrar', auditor: false, link: true, recentSignIn: 'never' },
      cost: 5,
      errors: [
        'invalid_key_pem',
        'unsupported_key',
        'weak_key',
        'algorithm_mismatch',
        'compromised_key',
        'key_not_vouched',
        'duplicate_key',
        'key_limit_reached',
        'jwks_too_large',
      ],
    },
    list: { access: readerAccess, etag: true },
    read: { access: projectAccess, errors: ['key_not_found'], etag: true },
    update: {
      access: { role: 'writer', auditor: false, recentSignIn: 'sometimes' },
      errors: ['key_not_found', 'key_compromised', 'jwks_too_large'],
    },
    delete: {
      access: { role: 'writer', auditor: false, recentSignIn: 'always' },
      errors: ['key_not_found', 'key_active'],
    },
  },
  schemas: {
    create: JwtKeyCreate,
    created: JwtKeyCreated,
    listed: JwtKey,
    shown: JwtKeyWithDetails,
    update: JwtKeyUpdate,
    updated: JwtKeyUpdated,
  },
  validatorCompiler: anyObjectAsBody,
  queries: {
    list: Query({
      active: Type.Optional(
        Type.Boolean({
          default: false,
          description: '`true` lists active keys only; `false` or absent lists all keys.',
        }),
      ),
    }),
  },
  descriptions: {
    create:
      'The `ETag` is the one of the key at the URL in `Location` as long as no verifier reports uses of keys. An ML-DSA key is published in jwks-full.json, not in jwks.json.',
    list: 'Returns all keys in one array, oldest first.',
    update:
      'A merge patch (RFC 7396) of `label`, `active`, `expireTime` and `reason`. A patch that changes nothing also leaves `updateTime` unchanged. Only a new or cleared `expireTime` reactivates an expired key. A change that leaves the project, or its `jwks.json`, without an active key, now or once the last one expires, succeeds with the warning `last_active_key` in `warnings`.',
    delete: 'Fails while the key is active: deactivate it first.',
  },
}

/**
 * Lets the response cache reuse the document for the same API key, while the API key and the
 * document are both valid. The heads are read for each request.
 */
function sendReusable(
  request: FastifyRequest,
  reply: FastifyReply,
  { store }: Kernel,
  document: ReusableDocument,
) {
  const principal = principalOf(request)
  const validity = document.validity && intersect(principal.validity, document.validity)
  const { authenticator } = request.server
  // Undefined: the ledger that the API key's validity depends on changed between the two reads.
  request.reuse = validity && {
    validity,
    headsMatch: store.headsMatch,
    onReuse: () => authenticator.recordUse(principal),
  }
  return sendDocument(reply, document)
}

/** Error codes of rejected keys; a finer code in the error says which rule applied. */
const rejectionCodes: readonly string[] = Object.values(intakeCodes)

export function metrics(_kernel: Kernel, { counter, onRequest }: Meters): void {
  const rejected = counter({
    name: 'pubring_key_refusals_total',
    help: 'Keys rejected by the intake, by deciding rule.',
    labelNames: ['code'],
  })
  onRequest(({ problem }) => {
    if (problem === undefined || !rejectionCodes.includes(problem.code)) return
    rejected.inc({ code: problem.extras.errors?.[0]?.code ?? problem.code })
  })
}
