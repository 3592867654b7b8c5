import { expect, test } from 'vitest'
import { startApp } from '../../../support/app/app.ts'
import { fetchJwks, keysUrl, registerKey } from '../../../support/app/keys.ts'

const app = await startApp()
const kid = await registerKey(app)

/** Each header is far below the limit of all headers together. */
const commas = ','.repeat(60_000)

test('a very long If-None-Match is ignored, also by a request that asks to wait', async () => {
  const { headers } = await fetchJwks(app)
  const known = `${headers.etag}${commas}`
  for (const prefer of [{}, { prefer: 'wait=60' }]) {
    const answer = await fetchJwks(app, { 'if-none-match': known, ...prefer })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).not.toHaveProperty('preference-applied')
  }
  const many = `${'"other",'.repeat(32)}${headers.etag}`
  expect((await fetchJwks(app, { 'if-none-match': many })).statusCode).toBe(200)
  const short = `"other", W/${headers.etag}`
  expect((await fetchJwks(app, { 'if-none-match': short })).statusCode).toBe(304)
})

test('a very long If-Match is 400 and changes nothing', async () => {
  for (const tags of [`"x"${commas}`, '"x",'.repeat(33)]) {
    const request = { headers: { 'if-match': tags }, body: { active: false } }
    const answer = await app.send('PATCH', `${keysUrl}/${kid}`, request)
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request' })
  }
  expect((await app.send('GET', `${keysUrl}/${kid}`)).json().active).toBe(true)
})

test('a very long Accept gets the default media type', async () => {
  const headers = { accept: `application/x-ndjson${',a/b'.repeat(15_000)}` }
  const answer = await app.send('GET', '/v1/events', { headers })
  expect(answer.headers['content-type']).toBe('application/json')
})
