import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { fetchJwks, kidsOf, newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { keyFor, signToken } from '../../support/keys/tokens.ts'

const server = await startApp()

let projects = 0
async function project() {
  projects += 1
  const created = await newProject(server, `kids-${projects}`)
  const { keys, jwks } = created
  const fresh = (publishedKid: string) => {
    const { publicKeyPem } = keyFor('ES256')
    return { name: 'n', algorithm: 'ES256', publicKeyPem, publishedKid }
  }
  const remove = async (kid: string) => {
    await patchKey(server, kid, { active: false }, keys)
    expect((await server.send('DELETE', `${keys}/${kid}`)).statusCode).toBe(204)
  }
  return {
    ...created,
    fresh,
    remove,
    create: (body: object) => server.send('POST', keys, { body }),
    importAll: (...items: object[]) =>
      server.send('POST', keys.replace('jwt-keys', 'key-imports'), { body: { keys: items } }),
    published: async () => kidsOf((await fetchJwks(server, {}, jwks)).body),
  }
}

const faultsOf = (response: { json(): { errors?: { pointer: string; code: string }[] } }) =>
  (response.json().errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)

describe('a key with a publishedKid', () => {
  test('has it in the key set, in its details and in the ledger, and keeps its id elsewhere', async () => {
    const { keys, name, create, fresh, published, remove } = await project()
    const created = await create(fresh('did:web:kms/eu-1:key~7+a=_@b.c#k-1'))
    const { kid } = created.json()
    expect(created.body).toBe(JSON.stringify({ kid }))
    expect(kid).toMatch(/^[0-9a-f-]{36}$/)
    const other = await registerKey(server, {}, keys)
    expect(await published()).toEqual(['did:web:kms/eu-1:key~7+a=_@b.c#k-1', other])
    const [listed] = (await server.send('GET', keys)).json()
    expect(Object.keys(listed)).toHaveLength(8)
    expect(listed.id).toBe(kid)
    const read = (await server.send('GET', `${keys}/${kid}`)).json()
    expect(read.details.publishedKid).toBe('did:web:kms/eu-1:key~7+a=_@b.c#k-1')
    await remove(kid)
    const events = (await server.send('GET', `/v1/projects/${name}/events`)).json()
    const changes = events.flatMap((event: { changes: Record<string, unknown> }) =>
      'publishedKid' in event.changes ? [event.changes.publishedKid] : [],
    )
    expect(changes).toEqual([
      { to: 'did:web:kms/eu-1:key~7+a=_@b.c#k-1' },
      { from: 'did:web:kms/eu-1:key~7+a=_@b.c#k-1' },
    ])
  })

  test('is read, changed and deleted by either', async () => {
    const { keys, create, fresh } = await project()
    const { kid } = (await create(fresh('a/b+c#d'))).json()
    const url = `${keys}/${encodeURIComponent('a/b+c#d')}`
    expect((await server.send('GET', url)).body).toBe(
      (await server.send('GET', `${keys}/${kid}`)).body,
    )
    const patched = await server.send('PATCH', url, { body: { active: false } })
    expect(patched.json()).toMatchObject({ id: kid, active: false })
    expect((await server.send('DELETE', url)).statusCode).toBe(204)
    expect((await server.send('GET', url)).json().code).toBe('key_not_found')
  })

  test('verifies tokens that carry it, and no others', async () => {
    const { keys, name } = await project()
    const { publicKeyPem, privateKey } = keyFor('ES256')
    const id = await registerKey(server, { publicKeyPem, publishedKid: 'migrated' }, keys)
    const check = async (kid: string) => {
      const body = { token: signToken(privateKey, { alg: 'ES256', kid }) }
      return (await server.send('POST', `/v1/projects/${name}/token-checks`, { body })).json()
    }
    const good = await check('migrated')
    expect(good.steps[5]).toMatchObject({ step: 'signature', outcome: 'passed' })
    expect(good.key).toMatchObject({ id, publishedKid: 'migrated' })
    const { reason, steps } = await check(id)
    expect(reason).toBe('kid_unknown')
    expect(steps.at(-1).detail).toContain('published as migrated')
  })

  test('counts with its length towards the size of the key set', async () => {
    const small = await startApp({ config: { maxJwksBytes: 400 } })
    await registerKey(small, {})
    const { publicKeyPem } = keyFor('ES256')
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem, publishedKid: 'k'.repeat(200) }
    const refused = await small.send('POST', '/v1/projects/payments/jwt-keys', { body })
    expect(refused.json().code).toBe('jwks_too_large')
  })
})

describe('a publishedKid is rejected', () => {
  const other = 'has a character other than'
  test.each([
    ['', 'is empty'],
    ['a\n', other],
    ['é', other],
    ['a%2F', other],
    ['k'.repeat(256), 'has 256 characters, more than the 255'],
    ['no-active-key', 'is no-active-key, which stands for an empty key set'],
  ])('if it is %j', async (publishedKid, cause) => {
    const { create, fresh } = await project()
    const response = await create(fresh(publishedKid))
    expect(faultsOf(response)).toEqual(['/publishedKid kid_invalid'])
    expect(response.json().errors[0].detail).toContain(`publishedKid ${cause}`)
  })

  test('if it is or was the id or the publishedKid of another key of the project', async () => {
    const { keys, create, fresh, remove } = await project()
    const taken = ['/publishedKid kid_taken']
    const id = await registerKey(server, {}, keys)
    const named = await registerKey(server, { publishedKid: 'first' }, keys)
    for (const kid of [id, named, 'first'])
      expect(faultsOf(await create(fresh(kid)))).toEqual(taken)
    for (const kid of [id, named]) await remove(kid)
    for (const kid of [id, named, 'first'])
      expect(faultsOf(await create(fresh(kid)))).toEqual(taken)
    const elsewhere = await project()
    expect((await elsewhere.create(elsewhere.fresh('first'))).statusCode).toBe(201)
    expect((await elsewhere.create(elsewhere.fresh(id))).statusCode).toBe(201)
  })

  test('if it holds a token or an API key, but not if it is that of the same key, deleted before', async () => {
    const { create, fresh, remove } = await project()
    const body = fresh('again')
    await remove((await create(body)).json().kid)
    expect((await create(body)).statusCode).toBe(201)
    const token = signToken(keyFor('ES256').privateKey, { alg: 'ES256' }, { sub: 'alice' })
    expect(faultsOf(await create(fresh(token)))).toEqual(['/publishedKid text_invalid'])
    expect(faultsOf(await create(fresh(server.admin)))).toEqual(['/publishedKid text_invalid'])
  })
})

describe('an import', () => {
  test('publishes keys under their publishedKids, and finds them again', async () => {
    const { fresh, importAll, published } = await project()
    const items = [fresh('one'), fresh('two')]
    expect((await importAll(...items)).json()).toMatchObject({ created: 2 })
    expect(await published()).toEqual(['one', 'two'])
    expect((await importAll(...items)).json()).toMatchObject({ created: 0, present: 2 })
    const [first] = items
    const renamed = await importAll({ ...first, publishedKid: 'three' })
    expect(faultsOf(renamed)).toEqual(['/keys/0/publishedKid duplicate_key'])
    const { publishedKid: _kid, ...bare } = first ?? {}
    expect((await importAll(bare)).json()).toMatchObject({ present: 1 })
  })

  test('rejects kids that name other material in the project, before or in the same import', async () => {
    const { fresh, importAll, create, remove } = await project()
    await remove((await create(fresh('gone'))).json().kid)
    const kid = crypto.randomUUID()
    await create(fresh(kid))
    const { publishedKid: _kid, ...bare } = fresh('')
    const answer = await importAll(
      fresh('gone'),
      fresh('same'),
      fresh('same'),
      { ...bare, kid },
      { ...fresh('x'), kid: crypto.randomUUID() },
    )
    expect(faultsOf(answer)).toEqual([
      '/keys/0/publishedKid kid_taken',
      '/keys/2/publishedKid kid_taken',
      '/keys/3/kid kid_taken',
    ])
  })
})
