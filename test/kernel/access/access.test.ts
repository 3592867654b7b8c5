import type { InjectOptions } from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { type RankedRole, rankedRoles } from '../../../packages/server/src/kernel/contract.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { apiOperations } from '../../support/app/operations.ts'
import { ecKey } from '../../support/keys/pem.ts'

/** Callers. "bound": to the project of the request; "other's": to another one. */
const callers = [
  'no API key',
  'wrong',
  'revoked',
  'disabled',
  'expired',
  "other's reader",
  "other's registrar",
  "other's writer",
  "other's admin",
  'bound reader',
  'bound registrar',
  'bound writer',
  'bound admin',
  'reader',
  'registrar',
  'writer',
  'admin',
  'auditor',
] as const
type Caller = (typeof callers)[number]

/** Least role; "unbound": not bound to a project either. */
type Need = 'public' | 'reader' | 'registrar' | 'writer' | 'admin' | 'unbound admin'

/**
 * Every operation: the role it requires, and its response to a permitted caller for a body that is
 * not JSON and for unknown ids. A new route fails the first test until it has a line here.
 */
const operations: Record<string, [Need, status: number, code?: string]> = {
  'GET /health/live': ['public', 200],
  'GET /health/ready': ['public', 200],
  'GET /health/write': ['public', 200],
  'GET /v1/status': ['unbound admin', 200],
  'GET /v1/projects/{projectIdOrName}/.well-known/jwks.json': ['public', 200],
  'GET /v1/projects/{projectIdOrName}/.well-known/jwks-full.json': ['public', 200],
  'GET /v1/projects/{projectIdOrName}/.well-known/key-history.json': ['public', 200],
  'GET /v1/projects/{projectIdOrName}/.well-known/keys.pem': ['public', 200],
  'GET /v1/projects/{projectIdOrName}/.well-known/{kid}.pem': ['public', 404, 'key_not_found'],
  'GET /v1/projects/{projectIdOrName}/.well-known/openid-configuration': ['public', 200],
  'GET /v1/projects': ['reader', 200],
  'POST /v1/projects': ['unbound admin', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}': ['reader', 200],
  'PATCH /v1/projects/{projectIdOrName}': ['unbound admin', 400, 'invalid_json'],
  'DELETE /v1/projects/{projectIdOrName}': ['unbound admin', 409, 'project_not_empty'],
  'GET /v1/projects/{projectIdOrName}/jwt-keys': ['reader', 200],
  'POST /v1/projects/{projectIdOrName}/jwt-keys': ['registrar', 400, 'invalid_json'],
  'POST /v1/projects/{projectIdOrName}/key-imports': ['writer', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}/jwt-keys/{kid}': ['reader', 404, 'key_not_found'],
  'PATCH /v1/projects/{projectIdOrName}/jwt-keys/{kid}': ['writer', 400, 'invalid_json'],
  'DELETE /v1/projects/{projectIdOrName}/jwt-keys/{kid}': ['writer', 404, 'key_not_found'],
  'POST /v1/projects/{projectIdOrName}/jwt-keys/{kid}/end': ['public', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}/key-states': ['reader', 200],
  'GET /v1/projects/{projectIdOrName}/verifiers': ['reader', 200],
  'POST /v1/projects/{projectIdOrName}/key-uses': ['reader', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}/key-uses': ['reader', 200],
  'DELETE /v1/projects/{projectIdOrName}/key-uses/{reporter}': [
    'writer',
    404,
    'reporter_not_found',
  ],
  'GET /v1/projects/{projectIdOrName}/rotations': ['reader', 200],
  'GET /v1/history': ['unbound admin', 200],
  'GET /v1/search': ['reader', 400, 'invalid_request'],
  'GET /v1/warnings': ['reader', 200],
  'GET /v1/project-health': ['reader', 200],
  'POST /v1/projects/{projectIdOrName}/rotations': ['writer', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}/rotations/{id}': ['reader', 404, 'rotation_not_found'],
  'PATCH /v1/projects/{projectIdOrName}/rotations/{id}': ['writer', 400, 'invalid_json'],
  'DELETE /v1/projects/{projectIdOrName}/rotations/{id}': ['writer', 404, 'rotation_not_found'],
  'POST /v1/projects/{projectIdOrName}/rotations/{id}/finish': [
    'writer',
    404,
    'rotation_not_found',
  ],
  'GET /v1/projects/{projectIdOrName}/registration-links': ['reader', 200],
  'POST /v1/projects/{projectIdOrName}/registration-links': ['writer', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}/registration-links/{id}': ['reader', 404, 'link_not_found'],
  'DELETE /v1/projects/{projectIdOrName}/registration-links/{id}': [
    'writer',
    404,
    'link_not_found',
  ],
  'POST /v1/registration-sessions': ['public', 400, 'invalid_json'],
  // Only the browser that opened a link has a session.
  'GET /v1/registration-sessions/self': ['reader', 401, 'invalid_session'],
  'POST /v1/projects/{projectIdOrName}/token-checks': ['reader', 400, 'invalid_json'],
  'GET /v1/projects/{projectIdOrName}/events': ['reader', 200],
  'GET /v1/projects/{projectIdOrName}/.well-known/ledger-proof': ['public', 404, 'not_logged'],
  'POST /v1/key-checks': ['reader', 400, 'invalid_json'],
  'GET /v1/events': ['unbound admin', 200],
  'GET /v1/api-keys': ['admin', 200],
  'POST /v1/api-keys': ['admin', 400, 'invalid_json'],
  'GET /v1/api-keys/self': ['reader', 200],
  'GET /v1/api-keys/{id}': ['admin', 404, 'api_key_not_found'],
  'PATCH /v1/api-keys/{id}': ['admin', 400, 'invalid_json'],
  'DELETE /v1/api-keys/{id}': ['admin', 404, 'api_key_not_found'],
  'GET /log/checkpoint': ['public', 404, 'not_logged'],
  'GET /log/vkey': ['public', 404, 'not_logged'],
  'GET /v1/projects/{projectIdOrName}/ledger-proof': ['reader', 404, 'not_logged'],
  'GET /v1/ledger-proof': ['unbound admin', 404, 'not_logged'],
  'POST /v1/log/checkpoints': ['unbound admin', 409, 'log_stopped'],
  'POST /v1/log/restarts': ['unbound admin', 409, 'log_stopped'],
  'GET /v1/sign-in-options': ['public', 200],
  'GET /v1/self': ['reader', 200],
  'POST /v1/sessions': ['reader', 201],
  'GET /v1/sessions': ['reader', 200],
  'DELETE /v1/sessions': ['unbound admin', 400, 'invalid_request'],
  'DELETE /v1/sessions/self': ['reader', 404, 'session_not_found'],
  'DELETE /v1/sessions/{id}': ['reader', 404, 'session_not_found'],
  'GET /v1/people': ['unbound admin', 200],
  'DELETE /v1/people/{id}': ['unbound admin', 404, 'person_not_found'],
  'GET /v1/access-rules': ['unbound admin', 200],
  'POST /v1/access-rules': ['unbound admin', 400, 'invalid_json'],
  'GET /v1/access-rules/{id}': ['unbound admin', 404, 'access_rule_not_found'],
  'PATCH /v1/access-rules/{id}': ['unbound admin', 400, 'invalid_json'],
  'DELETE /v1/access-rules/{id}': ['unbound admin', 404, 'access_rule_not_found'],
  'POST /v1/access-rules/checks': ['unbound admin', 400, 'invalid_json'],
  'POST /v1/access-rules/{id}/checks': ['unbound admin', 400, 'invalid_json'],
  // Its body is a form, and its errors are those of OAuth.
  'POST /v1/token': ['public', 400],
}

let server: TestApp
const secrets = new Map<Caller, string>()

beforeAll(async () => {
  server = await startApp({ clock: stoppedClock() })
  const { project, apiKey } = server
  const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
  await server.send('POST', `/v1/projects/${project.id}/jwt-keys`, { body })
  const other = await server.send('POST', '/v1/projects', { body: { name: 'other' } })
  secrets.set('auditor', await apiKey('auditor'))
  for (const role of rankedRoles) {
    secrets.set(role, await apiKey(role))
    secrets.set(`bound ${role}`, await apiKey(role, project.id))
    secrets.set(`other's ${role}`, await apiKey(role, other.json().id))
  }
  secrets.set('wrong', newApiKeySecret())
  secrets.set('expired', await apiKey('admin', undefined, '2026-01-01T00:00:00.000Z'))
  for (const caller of ['revoked', 'disabled'] as const) {
    const created = await server.send('POST', '/v1/api-keys', {
      body: { name: caller, role: 'admin' },
    })
    const url = `/v1/api-keys/${created.json().id}`
    secrets.set(caller, created.json().apiKey)
    if (caller === 'revoked') await server.send('DELETE', url)
    else await server.send('PATCH', url, { body: { active: false } })
  }
})

interface Route {
  operation: string
  method: NonNullable<InjectOptions['method']>
  url: string
}

/** All operations, those that read also by HEAD. */
const routes = (): Route[] =>
  apiOperations.flatMap(({ name: operation, method, url }) => {
    const methods = method === 'GET' ? (['GET', 'HEAD'] as const) : [method]
    return methods.map((each) => ({ operation, method: each, url: url(server.project.id) }))
  })

test('every operation of the API is tested here', () => {
  expect(apiOperations.map(({ name }) => name).sort()).toEqual(Object.keys(operations).sort())
})

/** Operations that an auditor may use besides reading: checks, and sessions of their own. */
const audited = [
  'POST /v1/key-checks',
  'POST /v1/projects/{projectIdOrName}/token-checks',
  'POST /v1/access-rules/checks',
  'POST /v1/access-rules/{id}/checks',
  'POST /v1/sessions',
  'DELETE /v1/sessions/self',
  'DELETE /v1/sessions/{id}',
]

/** Callers whose API key has ended, so that they differ from a wrong one in authentication alone. */
const ended: readonly Caller[] = ['revoked', 'disabled', 'expired']

/** The expected result in the order of checks: 401, 404 for the project, 403, then the request. */
function expected(caller: Caller, { operation, url }: Route): [number, string?] {
  const [need, ...whoMay] = operations[operation] ?? ['public', 0]
  if (need === 'public') return whoMay
  if (caller === 'no API key') return [401, 'missing_api_key']
  if (caller === 'wrong' || ended.includes(caller)) return [401, 'invalid_api_key']
  const [, binding, role = ''] = /^(other's |bound )?(\w+)$/.exec(caller) ?? []
  const isOther = binding === "other's " && url.includes(server.project.id)
  if (isOther || url.includes('/none')) return [404, 'project_not_found']
  const least = need.replace('unbound ', '') as RankedRole
  const isPermitted =
    caller === 'auditor'
      ? operation.startsWith('GET ') || audited.includes(operation)
      : rankedRoles.indexOf(role as RankedRole) >= rankedRoles.indexOf(least) &&
        !(need.startsWith('unbound') && binding !== undefined)
  return isPermitted ? whoMay : [403, 'insufficient_role']
}

async function request(caller: Caller, { method, url }: Route): Promise<[number, string?]> {
  const secret = secrets.get(caller)
  const hasBody = method === 'POST' || method === 'PATCH'
  const answer = await server.inject({
    method,
    url,
    headers: {
      ...(secret === undefined ? {} : { 'x-api-key': secret }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
    },
    ...(hasBody ? { payload: '{"name":' } : {}),
  })
  const { statusCode, headers, body } = answer
  if (statusCode === 401) expect(headers['www-authenticate']).toMatch(/^ApiKey /)
  if (headers['content-type'] !== 'application/problem+json' || body === '') return [statusCode]
  return [statusCode, answer.json().code]
}

describe('the permissions of each caller, and the order of the checks', () => {
  test.each(callers)('%s', async (caller) => {
    const absent = ['', '?x=1'].map((query) => ({
      operation: 'POST /v1/projects/{projectIdOrName}/jwt-keys',
      method: 'POST' as const,
      url: `/v1/projects/none/jwt-keys${query}`,
    }))
    const all = ended.includes(caller) ? absent : [...routes(), ...absent]
    const found = await Promise.all(
      all.map(async (route) => [route.method, route.url, ...(await request(caller, route))]),
    )
    const should = all.map((route) => {
      const [status, code] = expected(caller, route)
      // The response to a HEAD has no body.
      const hasCode = code !== undefined && route.method !== 'HEAD'
      return [route.method, route.url, status, ...(hasCode ? [code] : [])]
    })
    expect(found).toEqual(should)
  })

  test('a wrong media type is reported after the role and before the body', async () => {
    const url = '/v1/projects/payments/jwt-keys'
    const send = async (caller: Caller) => {
      const headers = { 'content-type': 'text/plain', 'x-api-key': secrets.get(caller) ?? '' }
      return (await server.send('POST', url, { headers, body: '{"name":' })).json().code
    }
    expect(await send('reader')).toBe('insufficient_role')
    expect(await send('admin')).toBe('unsupported_media_type')
  })

  test('a bound API key lists only its own project', async () => {
    const headers = { 'x-api-key': secrets.get('bound admin') ?? '' }
    const list = await server.send('GET', '/v1/projects', { headers })
    expect(list.json().map(({ id }: { id: string }) => id)).toEqual([server.project.id])
  })
})
