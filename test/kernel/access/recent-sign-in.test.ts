import { createPublicKey, randomUUID } from 'node:crypto'
import type { RouteOptions } from 'fastify'
import { beforeAll, expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { pageHeaders, startApp, type TestApp } from '../../support/app/app.ts'
import { newProject, registerKey, type TestProject } from '../../support/app/keys.ts'
import { convergenceMs } from '../../support/app/rotations.ts'
import { freshPem } from '../../support/keys/fresh-keys.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { createPersonSession, issuer, ruleRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'

const routes: RouteOptions[] = []
let server: TestApp
let time = Date.now()
beforeAll(async () => {
  server = await startApp({
    clock: { now: () => time, monotonic: () => performance.now() },
    config: { oidc: { issuer, clientId: 'pubring', scopes: 'openid' } },
    beforeRoutes: async (app) => void app.addHook('onRoute', (route) => void routes.push(route)),
  })
  const rule = ruleRecord()
  await server.context.store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
})

/** Signs in an admin of all projects at the time of the clock. */
async function signIn(subject: string = randomUUID()) {
  const now = new Date(time).toISOString()
  const expireTime = new Date(time + 7_200_000).toISOString()
  const times = { createTime: now, lastUseTime: now, signInTime: now, expireTime }
  return createPersonSession(server.context.store, times, { subject })
}
type SignedIn = Awaited<ReturnType<typeof signIn>>

async function made(url: string, body: object): Promise<{ id: string }> {
  const answer = await server.send('POST', url, { body })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}

const project = () => newProject(server, `p-${randomUUID()}`)
const later = (ms: number) => new Date(time + ms).toISOString()
const hour = 3_600_000

async function apiKey(members: object = {}): Promise<string> {
  return `/v1/api-keys/${(await made('/v1/api-keys', { name: 'n', role: 'writer', ...members })).id}`
}

const ecJwk = () => ({
  ...createPublicKey(ecKey().publicKeyPem).export({ format: 'jwk' }),
  kid: 'k',
})
const workloads = {
  for: 'workloads',
  name: 'n',
  issuer: 'https://ci.example.com',
  jwks: { keys: [ecJwk()] },
  conditions: { sub: 'deploy', ref: 'main' },
  role: 'registrar',
  project: 'payments',
  audience: 'https://keys.example.com',
  maxLifetime: 600,
}
const people = {
  for: 'people',
  name: 'n',
  conditions: { groups: 'x' },
  role: 'writer',
  allProjects: true,
}
async function rule(members: object = workloads): Promise<string> {
  return `/v1/access-rules/${(await made('/v1/access-rules', members)).id}`
}

/** A name under which verifiers may still read the keys of the project that had it. */
async function givenUpName(): Promise<string> {
  const { id, name } = await project()
  const body = { name: `r-${randomUUID()}` }
  expect((await server.send('PATCH', `/v1/projects/${id}`, { body })).statusCode).toBe(200)
  return name
}

/** A project with keys, and the address of the first. */
async function keys(number: number): Promise<[TestProject, string]> {
  const one = await project()
  const kids: string[] = []
  for (let n = 0; n < number; n += 1) kids.push(await registerKey(server, {}, one.keys))
  return [one, `${one.keys}/${kids[0]}`]
}

/** A rotation from a key to another one that was registered when `between` had ended. */
async function rotation(between: () => unknown = () => undefined): Promise<string> {
  const [one, from] = await keys(1)
  await between()
  const to = await registerKey(server, {}, one.keys)
  time += convergenceMs
  const url = `/v1/projects/${one.name}/rotations`
  const body = { from: from.split('/').at(-1), to, tokenLifetime: 60 }
  return `${url}/${(await made(url, body)).id}`
}

/** Members of a key that `jwks.json` does not have. */
const mlDsaKey = () => ({ algorithm: 'ML-DSA-44', publicKeyPem: freshPem('ML-DSA-44') })

const newKey = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })

/** An import of new keys with these members into a new project. */
async function imports(keys: object[], options: object = {}): Promise<[string, object]> {
  const url = `/v1/projects/${(await project()).id}/key-imports`
  return [url, { keys: keys.map((members) => ({ ...newKey(), ...members })), ...options }]
}

interface Case {
  what: string
  /** Whether a session needs a recent sign-in. */
  asks: boolean
  /** Returns the request. Signs in after it has made what the request needs, unless it does so itself. */
  prepare(signIn: () => Promise<SignedIn>): Promise<[url: string, body?: object]>
}

const asks = (what: string, prepare: Case['prepare']): Case => ({ what, asks: true, prepare })
const free = (what: string, prepare: Case['prepare']): Case => ({ what, asks: false, prepare })

/** A change of a record: whether it asks, what it does, the body, and the record if it is another. */
type Change = [
  asks: boolean,
  what: string,
  body: object | (() => object),
  record?: () => Promise<string>,
]
const changes = (usual: () => Promise<string>, list: Change[]): Case[] =>
  list.map(([asks, what, body, record = usual]) => ({
    asks,
    what,
    prepare: async () => [await record(), typeof body === 'function' ? body() : body],
  }))
const inactive = async (url: string) => {
  const answer = await server.send('PATCH', url, { body: { active: false } })
  expect(answer.statusCode, answer.body).toBe(200)
  return url
}

const projectPath = '/v1/projects/:projectIdOrName'

const off = { active: false }
const superseded = { ...off, reason: 'superseded' }
const exposed = { ...off, reason: 'compromised' }

/** The operations that need a recent sign-in sometimes, and what of them does. */
const sometimes: Record<string, Case[]> = {
  'POST /v1/projects': [
    free('a new project', async () => ['/v1/projects', { name: `n-${randomUUID()}` }]),
    asks('one with an id that it may have had elsewhere', async () => [
      '/v1/projects',
      { name: `n-${randomUUID()}`, id: randomUUID() },
    ]),
    asks('one with a name that another has just given up', async () => [
      '/v1/projects?release=true',
      { name: await givenUpName() },
    ]),
  ],
  [`PATCH ${projectPath}/jwt-keys/:kid`]: [
    ...changes(
      async () => (await keys(1))[1],
      [
        [false, 'naming a key', { label: 'x' }],
        [false, 'activating a key', { active: true }, async () => inactive((await keys(1))[1])],
        [false, 'deactivating one of two keys', off, async () => (await keys(2))[1]],
        [true, 'deactivating the last key', off],
        [true, 'an end of the last key', () => ({ expireTime: later(hour) })],
        [false, 'ending one of two keys as superseded', superseded, async () => (await keys(2))[1]],
        [true, 'ending one of two keys as compromised', exposed, async () => (await keys(2))[1]],
        [
          true,
          'calling an ended key compromised',
          exposed,
          async () => inactive((await keys(1))[1]),
        ],
      ],
    ),
    free('deactivating an ML-DSA key beside another one', async () => {
      const [one] = await keys(1)
      return [`${one.keys}/${await registerKey(server, mlDsaKey(), one.keys)}`, off]
    }),
    free('deactivating a key that was registered since, beside one from before', async (signIn) => {
      const [one] = await keys(1)
      await signIn()
      return [`${one.keys}/${await registerKey(server, {}, one.keys)}`, off]
    }),
    asks('the last key but an ML-DSA key', async () => {
      const [one, url] = await keys(1)
      await registerKey(server, mlDsaKey(), one.keys)
      return [url, off]
    }),
    asks('the last key but those registered since', async (signIn) => {
      const [one, url] = await keys(1)
      await signIn()
      await registerKey(server, {}, one.keys)
      return [url, off]
    }),
    asks('the last key but those imported since, as old ones', async (signIn) => {
      const [one, url] = await keys(1)
      await signIn()
      const old = { createTime: later(-hour), updateTime: later(-hour) }
      const request = { body: { keys: [{ ...newKey(), ...old }] } }
      const answer = await server.send('POST', `/v1/projects/${one.id}/key-imports`, request)
      expect(answer.statusCode, answer.body).toBe(200)
      return [url, off]
    }),
    asks('the last key but those activated since', async (signIn) => {
      const [one, url] = await keys(1)
      const other = await inactive(`${one.keys}/${await registerKey(server, {}, one.keys)}`)
      await signIn()
      await server.send('PATCH', other, { body: { active: true } })
      await server.send('PATCH', other, { body: { expireTime: later(9 * hour) } })
      return [url, off]
    }),
    asks('a key that took the place of the last one since', async (signIn) => {
      const [one, old] = await keys(1)
      await signIn()
      const url = `${one.keys}/${await registerKey(server, {}, one.keys)}`
      await inactive(old)
      await registerKey(server, {}, one.keys)
      return [url, off]
    }),
    asks('an end of a key beside one from before that ends earlier', async (signIn) => {
      const [one, old] = await keys(1)
      await signIn()
      const url = `${one.keys}/${await registerKey(server, {}, one.keys)}`
      await server.send('PATCH', old, { body: { expireTime: later(hour / 2) } })
      return [url, { expireTime: later(hour) }]
    }),
    asks('the last key but an expired one extended since', async (signIn) => {
      const [one, url] = await keys(1)
      const other = await registerKey(server, { expireTime: later(500) }, one.keys)
      await signIn()
      await server.send('PATCH', `${one.keys}/${other}`, { body: { expireTime: null } })
      return [url, off]
    }),
  ],
  [`POST ${projectPath}/key-imports`]: [
    free('active and superseded keys', async () => imports([{}, superseded])),
    free('a trial with a compromised key', async () => imports([exposed], { dryRun: true })),
    asks('a compromised key', async () => imports([{}, exposed])),
    asks('a compromised key that is active', async () => imports([{ reason: 'compromised' }])),
  ],
  [`POST ${projectPath}/rotations/:id/finish`]: [
    free('a rotation to a key from before', async () => [`${await rotation()}/finish`]),
    asks('a rotation to a key that was registered since', async (signIn) => [
      `${await rotation(signIn)}/finish`,
    ]),
  ],
  'PATCH /v1/api-keys/:id': changes(apiKey, [
    [false, 'naming', { name: 'x' }],
    [false, 'a lower role', { role: 'reader' }],
    [false, 'an end', () => ({ expireTime: later(hour) })],
    [
      false,
      'an earlier end',
      () => ({ expireTime: later(hour) }),
      () => apiKey({ expireTime: later(9 * hour) }),
    ],
    [false, 'deactivating an admin', off, () => apiKey({ role: 'admin' })],
    [true, 'a higher role', { role: 'admin' }],
    [
      true,
      'a higher role of an inactive one',
      { role: 'admin' },
      async () => inactive(await apiKey()),
    ],
    [true, 'another role', { role: 'auditor' }],
    [true, 'no end', { expireTime: null }, () => apiKey({ expireTime: later(hour) })],
    [
      true,
      'a later end',
      () => ({ expireTime: later(9 * hour) }),
      () => apiKey({ expireTime: later(hour) }),
    ],
    [true, 'activating', { active: true }, async () => inactive(await apiKey())],
    [true, 'a higher role that ends earlier', () => ({ role: 'admin', expireTime: later(hour) })],
  ]),
  'PATCH /v1/access-rules/:id': [
    ...changes(rule, [
      [false, 'naming', { name: 'x' }],
      [false, 'deactivating', off],
      [false, 'a lower role', { role: 'reader' }],
      [false, 'a further condition', { conditions: { actor: 'ada' } }],
      [false, 'single use', { singleUse: true }],
      [false, 'a shorter life', { maxLifetime: 60 }],
      [true, 'a higher role', { role: 'writer' }],
      [true, 'one condition less', { conditions: { ref: null } }],
      [true, 'another condition', { conditions: { ref: 'main*' } }],
      [true, 'other keys', () => ({ jwks: { keys: [ecJwk()] } })],
      [true, 'another audience', { audience: 'https://other.example.com' }],
      [true, 'a longer life', { maxLifetime: 900 }],
      [true, 'more uses', { singleUse: false }, () => rule({ ...workloads, singleUse: true })],
      [true, 'activating', { active: true }, async () => inactive(await rule())],
      [
        true,
        'a higher role of an inactive one',
        { role: 'writer' },
        async () => inactive(await rule()),
      ],
      [true, 'more and less', { role: 'writer', active: false }],
    ]),
    ...changes(
      () => rule(people),
      [
        [false, 'naming one for people', { name: 'x' }],
        [true, 'deactivating one for people', off],
        [true, 'a lower role for people', { role: 'reader' }],
        [true, 'a further condition for people', { conditions: { a: 'b' } }],
        [true, 'more for people', { role: 'admin' }],
        [true, 'more people', { conditions: { groups: 'y' } }],
      ],
    ),
  ],
  'DELETE /v1/sessions/:id': [
    free('the own session', async (signIn) => [`/v1/sessions/${(await signIn()).session.id}`]),
    free('another session of the same person', async (own) => {
      const { subject } = (await own()).person
      return [`/v1/sessions/${(await signIn(subject)).session.id}`]
    }),
    asks('the session of another person', async () => [
      `/v1/sessions/${(await signIn()).session.id}`,
    ]),
  ],
  'DELETE /v1/sessions': [
    free('all sessions of the same person', async (own) => [
      `/v1/sessions?person=${(await own()).person.id}`,
    ]),
    asks('all sessions of another person', async () => [
      `/v1/sessions?person=${(await signIn()).person.id}`,
    ]),
  ],
}

/** The other operations that may change something, by what they declare. */
const declared = {
  always: [
    `DELETE ${projectPath}`,
    `DELETE ${projectPath}/jwt-keys/:kid`,
    `DELETE ${projectPath}/key-uses/:reporter`,
    `DELETE ${projectPath}/registration-links/:id`,
    'DELETE /v1/access-rules/:id',
    'DELETE /v1/api-keys/:id',
    'DELETE /v1/people/:id',
    `PATCH ${projectPath}`,
    'POST /sign-in/cli',
    `POST ${projectPath}/registration-links`,
    'POST /v1/access-rules',
    'POST /v1/api-keys',
    'POST /v1/log/restarts',
  ],
  never: [
    `DELETE ${projectPath}/rotations/:id`,
    'DELETE /v1/sessions/self',
    `PATCH ${projectPath}/rotations/:id`,
    `POST ${projectPath}/jwt-keys`,
    `POST ${projectPath}/key-uses`,
    `POST ${projectPath}/rotations`,
    `POST ${projectPath}/token-checks`,
    'POST /v1/access-rules/:id/checks',
    'POST /v1/access-rules/checks',
    'POST /v1/key-checks',
    'POST /v1/log/checkpoints',
    'POST /v1/sessions',
  ],
  /** They have no session. */
  undefined: [
    'POST /sign-in/back-channel-logout',
    `POST ${projectPath}/jwt-keys/:kid/end`,
    'POST /v1/registration-sessions',
    'POST /v1/session-keys',
    'POST /v1/token',
  ],
}

test('every operation that may change something declares whether it needs one', () => {
  const found = routes.flatMap(({ method, url, config }) => {
    const methods = [method].flat().filter((each) => !['GET', 'HEAD', 'OPTIONS'].includes(each))
    return methods.map((each) => [`${each} ${url}`, String(config?.access?.recentSignIn)])
  })
  const all = Object.entries({ ...declared, sometimes: Object.keys(sometimes) })
  const expected = all.flatMap(([answer, names]) => names.map((name) => [name, answer]))
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
})

test('an operation that does not declare it does not start', async () => {
  const undeclared = startApp({
    beforeRoutes: async (app) => {
      app.route({
        method: 'POST',
        url: '/forgotten',
        config: { access: { role: 'admin', auditor: false } },
        handler: async () => '',
      })
    },
  })
  await expect(undeclared).rejects.toThrow('POST /forgotten does not declare')
})

const cases = Object.entries({
  ...sometimes,
  [`DELETE ${projectPath}`]: [
    asks('which always needs one', async () => [`/v1/projects/${(await project()).id}`]),
  ],
  [`POST ${projectPath}/jwt-keys`]: [
    free('which never needs one', async () => [(await project()).keys, newKey()]),
  ],
}).flatMap(([operation, all]) =>
  all.map((one) => [`${operation}: ${one.what}`, operation, one] as const),
)

test.each(cases)('%s', async (_name, operation, { asks: isAsked, prepare }) => {
  const method = operation.split(' ')[0] as 'POST' | 'PATCH' | 'DELETE'
  async function send(ageMs: number | undefined) {
    let signedIn: SignedIn | undefined
    const once = async () => {
      signedIn ??= await signIn()
      time += 1_000
      return signedIn
    }
    const [url, body] = await prepare(once)
    const session = await once()
    time += ageMs ?? 0
    const headers = ageMs === undefined ? {} : pageHeaders(session.secret)
    const answer = await server.send(method, url, { headers, ...(body && { body }) })
    return answer.statusCode < 300 ? undefined : answer.json().code
  }
  expect(await send(901_000)).toBe(isAsked ? 'recent_sign_in_required' : undefined)
  expect(await send(0)).toBeUndefined()
  // An API key is never asked.
  expect(await send(undefined)).toBeUndefined()
})

test('in an emergency, a session without one deactivates the key now, and names the reason later', async () => {
  const [, url] = await keys(2)
  const [, last] = await keys(1)
  const signedIn = await signIn()
  time += 901_000
  const patch = (address: string, body: object, { secret } = signedIn) =>
    server.send('PATCH', address, { headers: pageHeaders(secret), body })
  const advice = /Sign in again and repeat it\. Until then, deactivate the key without a reason\.$/
  const refused = { code: 'recent_sign_in_required', detail: expect.stringMatching(advice) }
  expect((await patch(url, exposed)).json()).toMatchObject(refused)
  expect((await patch(url, off)).json()).toMatchObject({ active: false })
  // This would help neither with the key that is off nor with the last one.
  for (const each of [url, last]) {
    expect((await patch(each, exposed)).json().detail).toMatch(/repeat it\.$/)
  }
  expect((await patch(url, exposed, await signIn())).statusCode).toBe(200)
})

test('a person whose row was altered ends the sessions of no one else without a recent sign-in', async () => {
  const [thief, victim] = [await signIn(), await signIn()]
  time += 901_000
  const alter = (subject: string, { person }: SignedIn) =>
    server.database.execute('update person set subject = ? where id = ?', subject, person.id)
  await alter(randomUUID(), victim)
  await alter(victim.person.subject, thief)
  const url = `/v1/sessions?person=${thief.person.id}`
  const answer = await server.send('DELETE', url, { headers: pageHeaders(thief.secret) })
  expect(answer.json()).toMatchObject({ code: 'recent_sign_in_required' })
})

test.each(['isOwnId', 'release'] as const)(
  'a creation with %s decides it by the session under the lock',
  async (member) => {
    const { session } = await signIn()
    time += 901_000
    const authorization = {
      credential: { type: 'session', id: session.id },
      access: { role: 'admin', auditor: false },
    } as const
    const id = randomUUID()
    const committed = server.context.store.commit(projectChanges.createProject, {
      origin: { ...origin(new Date(time).toISOString()), authorization },
      id,
      name: `n-${id}`,
      [member]: true,
    })
    await expect(committed).rejects.toMatchObject({ code: 'recent_sign_in_required' })
    expect((await server.send('GET', `/v1/projects/${id}`)).statusCode).toBe(404)
  },
)
