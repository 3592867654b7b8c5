import type { FastifyReply, FastifyRequest } from 'fastify'
import { Project, ProjectCreate, ProjectUpdate } from '../../contract/projects.ts'
import { Type } from '../../contract/schema.ts'
import type { Context } from '../../core/context.ts'
import { projectEntityTag } from '../../core/entity-tags.ts'
import { parseId } from '../../core/ids.ts'
import {
  createProject,
  deleteProject,
  listProjects,
  readProject,
  renameProject,
} from '../../core/projects.ts'
import type { ProjectRecord } from '../../core/records.ts'
import { contextOf, principalOf, projectOf } from '../hooks/access.ts'
import type { App } from '../options.ts'
import { maxPageSize, Precondition, preconditionOf, Query } from '../request/paths.ts'

const collection = '/v1/projects'
const member = '/v1/projects/:projectIdOrName'

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

/** Long because it lists the routes. */
export function projectRoutes(app: App, context: Context): void {
  app.route({
    method: 'POST',
    url: collection,
    config: {
      access: { role: 'admin', unbound: true },
      errors: ['project_id_taken', 'project_name_taken'],
      headers: ['Location', 'ETag'],
    },
    schema: {
      operationId: 'createProject',
      summary: 'Create a project',
      description:
        'With `id`, for a project that is moved from another registry: 409 if a ledger of this id exists, even that of a deleted project.',
      body: ProjectCreate,
      response: { 201: Project },
    },
    handler: async (request, reply) => {
      const project = await createProject(contextOf(request, context), request.body)
      reply.code(201).header('location', `${context.config.publicUrl}${collection}/${project.id}`)
      return sendProject(reply, project)
    },
  })
  app.route({
    method: 'GET',
    url: collection,
    config: { access: { role: 'reader' }, headers: ['Link'] },
    schema: {
      operationId: 'listProjects',
      summary: 'List projects',
      description:
        'Returns the projects that the API key may see, in order of creation. A `Link` with `rel="next"` leads to the next page, if there is one.',
      querystring: projectPageQuery(maxPageSize),
      response: { 200: Type.Array(Project) },
    },
    handler: async (request, reply) =>
      reply.send(await readProjectPage(context, request, reply, collection)),
  })
  app.route({
    method: 'GET',
    url: member,
    config: { access: { role: 'reader' }, etag: true },
    schema: {
      operationId: 'getProject',
      summary: 'Read a project',
      response: { 200: Project },
    },
    handler: async (request, reply) =>
      sendProject(reply, await readProject(context, projectOf(request).id)),
  })
  app.route({
    method: 'PATCH',
    url: member,
    config: {
      access: { role: 'admin', unbound: true },
      errors: ['project_name_taken', 'precondition_failed'],
      headers: ['ETag'],
    },
    schema: {
      operationId: 'renameProject',
      summary: 'Rename a project',
      description: 'The id does not change, nor does any URL or issuer derived from it.',
      headers: Precondition,
      body: ProjectUpdate,
      response: { 200: Project },
    },
    handler: async (request, reply) => {
      const project = { ...projectOf(request), ...preconditionOf(request) }
      const renamed = await renameProject(contextOf(request, context), project, request.body)
      return sendProject(reply, renamed)
    },
  })
  app.route({
    method: 'DELETE',
    url: member,
    config: {
      access: { role: 'admin', unbound: true },
      errors: ['recent_sign_in_required', 'project_not_empty', 'precondition_failed'],
    },
    schema: {
      operationId: 'deleteProject',
      summary: 'Delete a project',
      description: 'Fails while the project has keys, active or not.',
      headers: Precondition,
      response: { 204: Type.Null({ description: 'The project is deleted.' }) },
    },
    handler: async (request, reply) => {
      const project = { ...projectOf(request), ...preconditionOf(request) }
      await deleteProject(contextOf(request, context), project)
      return reply.code(204).send(null)
    },
  })
}

/** The page of projects that the query asks for; a `Link` at the path leads to the next one. */
export async function readProjectPage(
  context: Context,
  request: FastifyRequest<{ Querystring: { limit?: number; after?: string } }>,
  reply: FastifyReply,
  path: string,
): Promise<Project[]> {
  const { limit = pageSize, after } = request.query
  const page = {
    limit: limit + 1,
    ...(after === undefined ? {} : { after: parseId(after) ?? after }),
  }
  const found = await listProjects(context, principalOf(request), page)
  const shown = found.slice(0, limit)
  const next = found.length > limit ? shown.at(-1)?.id : undefined
  if (next !== undefined) {
    const url = `${context.config.publicUrl}${path}?limit=${limit}&after=${next}`
    reply.header('link', `<${url}>; rel="next"`)
  }
  return shown.map(toProject)
}

function sendProject(reply: FastifyReply, project: ProjectRecord) {
  return reply.header('etag', projectEntityTag(project)).send(toProject(project))
}

/** Without what only the server needs. */
function toProject({ id, name, revision, createTime, updateTime }: ProjectRecord): Project {
  return { id, name, revision, createTime, updateTime }
}
