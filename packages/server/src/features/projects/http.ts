import type { FastifyReply, FastifyRequest } from 'fastify'
import { readerAccess, unboundAdmin } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { projectEntityTag } from '../../kernel/entity-tags.ts'
import { contextOf, principalOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { maxPageSize, preconditionOf, Query } from '../../kernel/http/request/parameters.ts'
import { type Resource, resourceRoutes } from '../../kernel/http/routes/managed-records.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { ProjectRecord } from '../../kernel/records.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { Project, ProjectCreate, ProjectUpdate } from './contract.ts'
import {
  createProject,
  deleteProject,
  listProjects,
  readProject,
  renameProject,
} from './operations.ts'

export function routes(app: App, kernel: Kernel): void {
  resourceRoutes(app, projects, {
    async create(request: FastifyRequest<{ Body: ProjectCreate } & NameRequest>, reply) {
      const own = contextOf(request, kernel)
      const project = await createProject(own, request.body, request.query)
      if (request.body.dryRun) return reply.code(200).send(toProject(project))
      reply.header('location', `${kernel.config.publicUrl}${projects.collection}/${project.id}`)
      return sendProject(reply, project)
    },
    list: async (request: FastifyRequest<PageRequest>, reply) =>
      reply.send(await readProjectPage(kernel, request, reply, projects.collection)),
    read: async (request, reply) =>
      sendProject(reply, await readProject(kernel, projectOf(request).id)),
    async update(request: FastifyRequest<{ Body: ProjectUpdate } & NameRequest>, reply) {
      const own = contextOf(request, kernel)
      const { body, query } = request
      return sendProject(reply, await renameProject(own, referenceOf(request), body, query))
    },
    delete: (request) => deleteProject(contextOf(request, kernel), referenceOf(request)),
  })
}

function referenceOf(request: FastifyRequest) {
  return { projectId: projectOf(request).id, ...preconditionOf(request) }
}

interface NameRequest {
  Querystring: { release?: boolean }
}

const NameQuery = Query({
  release: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        '`true` takes a name even if another project gave it up within the last 24 hours, by renaming or deletion. Verifiers that still use the name then get the keys of this project.',
    }),
  ),
})

function sendProject(reply: FastifyReply, project: ProjectRecord) {
  return reply.header('etag', projectEntityTag(project)).send(toProject(project))
}

/** Without what only the server needs. */
function toProject({ id, name, revision, createTime, updateTime }: ProjectRecord): Project {
  return { id, name, revision, createTime, updateTime }
}

interface PageRequest {
  Querystring: { limit?: number; after?: string }
}

/** Projects per page without `limit`. */
const pageSize = 50

export const projectPageQuery = (maximum: number) =>
  Query({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum, default: pageSize, description: 'Projects per page.' }),
    ),
    after: Type.Optional(
      Type.String({ format: 'uuid', description: 'Id of the last project of the previous page.' }),
    ),
  })

/** The page of projects that the query asks for; a `Link` at the path leads to the next one. */
export async function readProjectPage(
  kernel: Kernel,
  request: FastifyRequest<PageRequest>,
  reply: FastifyReply,
  path: string,
): Promise<Project[]> {
  const { limit = pageSize, after } = request.query
  const page = {
    limit: limit + 1,
    ...(after === undefined ? {} : { after: parseId(after) ?? after }),
  }
  const found = await listProjects(kernel, principalOf(request), page)
  const shown = found.slice(0, limit)
  const next = found.length > limit ? shown.at(-1)?.id : undefined
  if (next !== undefined) {
    const url = `${kernel.config.publicUrl}${path}?limit=${limit}&after=${next}`
    reply.header('link', `<${url}>; rel="next"`)
  }
  return shown.map(toProject)
}

const projects: Resource = {
  collection: '/v1/projects',
  member: '/v1/projects/:projectIdOrName',
  type: { one: 'Project', many: 'Projects' },
  noun: { bare: 'project', one: 'a project', many: 'projects' },
  deletion: { verb: 'Delete', done: 'deleted' },
  config: {
    create: {
      access: { ...unboundAdmin, recentSignIn: 'sometimes' },
      errors: ['project_id_taken', 'project_name_taken'],
    },
    list: { access: readerAccess, headers: ['Link'] },
    read: { access: readerAccess, etag: true },
    update: {
      // Verifiers that use the name lose the keys.
      access: { ...unboundAdmin, recentSignIn: 'always' },
      errors: ['project_name_taken'],
    },
    delete: {
      access: { ...unboundAdmin, recentSignIn: 'always' },
      errors: ['project_not_empty'],
    },
  },
  schemas: {
    shown: Project,
    created: Project,
    tried: Project,
    create: ProjectCreate,
    update: ProjectUpdate,
  },
  queries: { list: projectPageQuery(maxPageSize), create: NameQuery, update: NameQuery },
  descriptions: {
    create:
      'A name that another project gave up within the last 24 hours is `project_name_taken`. With `id`, for a project that is moved from another registry: 409 if a ledger of this id exists, even that of a deleted project.',
    list: 'Returns the projects that the API key may see, in order of creation. A `Link` with `rel="next"` leads to the next page, if there is one.',
    update:
      'The id does not change, nor does any URL or issuer derived from it. The former name is kept from other projects for 24 hours; the project may take it back at once.',
    delete: 'Fails while the project has keys, active or not.',
  },
}
