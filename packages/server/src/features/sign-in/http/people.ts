import { unboundAdmin } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { contextOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { Person } from '../contract.ts'
import { deletePerson, listPeople } from '../people.ts'

const collection = '/v1/people'

export function personRoutes(app: App, kernel: Kernel): void {
  app.route({
    method: 'GET',
    url: collection,
    config: { access: { role: 'admin', unbound: true, auditor: true } },
    schema: {
      operationId: 'listPeople',
      summary: 'List people',
      description: 'All people who have signed in through the OpenID provider, by first sign-in.',
      response: { 200: Type.Array(Person) },
    },
    handler: async (_request, reply) => reply.send(await listPeople(kernel)),
  })
  app.route({
    method: 'DELETE',
    url: `${collection}/:id`,
    config: {
      access: { ...unboundAdmin, recentSignIn: 'always' },
      errors: ['person_not_found'],
    },
    schema: {
      operationId: 'deletePerson',
      summary: 'Erase a person',
      description:
        'Erases name and email, which events then no longer show, and ends all sessions of the person. The ledger keeps the issuer and the subject. A person who may still sign in can do so again.',
      params: Type.Object({ id: Type.String({ description: 'Id of the person.' }) }),
      response: { 204: Type.Null({ description: 'The person is erased.' }) },
    },
    handler: async (request, reply) => {
      await deletePerson(contextOf(request, kernel), request.params.id)
      return reply.code(204).send(null)
    },
  })
}
