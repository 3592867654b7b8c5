import { expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { newProject, registerKey, type TestProject } from '../../support/app/keys.ts'
import { publicPemOf } from '../../support/keys/key-pairs.ts'

const server = await startApp()

const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
const inADay = new Date(Date.now() + 86_400_000).toISOString()

async function patch({ keys }: TestProject, kid: string, body: object) {
  const response = await server.send('PATCH', `${keys}/${kid}`, { body })
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

test('the end of the last active key is answered with a warning beside the key, now or at its expiry', async () => {
  const project = await newProject(server, 'one-key')
  const kid = await registerKey(server, {}, project.keys)
  const { warnings, ...key } = await patch(project, kid, { active: false })
  expect(warnings).toEqual([
    { code: 'last_active_key', detail: expect.stringContaining('last active key') },
  ])
  expect(key).toMatchObject({ id: kid, active: false, details: { kty: 'EC' } })
  const read = (await server.send('GET', `${project.keys}/${kid}`)).json()
  expect(read).toEqual(key)
  // Nothing changes any more, and nothing is warned about.
  expect(await patch(project, kid, { active: false })).not.toHaveProperty('warnings')
  expect(await patch(project, kid, { active: true })).not.toHaveProperty('warnings')
  // So is an expiry that leaves no active key afterwards.
  expect(await patch(project, kid, { expireTime: inADay })).toMatchObject({
    expireTime: inADay,
    warnings: [{ code: 'last_active_key', detail: expect.stringContaining(inADay) }],
  })
  expect(await patch(project, kid, { expireTime: inAnHour })).toHaveProperty('warnings')
  expect(await patch(project, kid, { expireTime: inADay })).not.toHaveProperty('warnings')
  expect(await patch(project, kid, { label: 'another' })).not.toHaveProperty('warnings')
  expect(await patch(project, kid, { expireTime: null })).not.toHaveProperty('warnings')
})

test('another active key makes the change harmless, unless it expires first', async () => {
  const project = await newProject(server, 'two-keys')
  const first = await registerKey(server, {}, project.keys)
  const second = await registerKey(server, { expireTime: inAnHour }, project.keys)
  expect(await patch(project, second, { active: false })).not.toHaveProperty('warnings')
  expect(await patch(project, second, { active: true })).not.toHaveProperty('warnings')
  expect(await patch(project, first, { active: false })).toMatchObject({
    warnings: [{ code: 'last_active_key', detail: expect.stringContaining(inAnHour) }],
  })
})

test('an ML-DSA key, which is not in jwks.json, does not', async () => {
  const project = await newProject(server, 'ml-dsa')
  const kid = await registerKey(server, {}, project.keys)
  const publicKeyPem = publicPemOf('ML-DSA-44')
  const mlDsa = await registerKey(server, { algorithm: 'ML-DSA-44', publicKeyPem }, project.keys)
  const warned = (detail: string) => ({
    warnings: [{ code: 'last_active_key', detail: expect.stringContaining(detail) }],
  })
  const ending = await patch(project, kid, { expireTime: inADay })
  expect(ending).toMatchObject(warned(`No key in jwks.json is active from ${inADay} on`))
  const ended = await patch(project, kid, { active: false })
  expect(ended).toMatchObject(warned('the last active key in jwks.json: '))
  expect(await patch(project, mlDsa, { active: false })).toMatchObject(warned('no token of the'))
  await patch(project, kid, { active: true })
  const activated = await patch(project, mlDsa, { active: true, expireTime: inADay })
  expect(activated).not.toHaveProperty('warnings')
  expect(await patch(project, kid, { expireTime: inAnHour })).toMatchObject(
    warned(`No key in jwks.json is active from ${inAnHour} on`),
  )
  expect(await patch(project, mlDsa, { expireTime: inAnHour })).toMatchObject(
    warned(`No key of the project is active from ${inAnHour} on`),
  )
})
