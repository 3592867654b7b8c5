import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { startApp } from '../support/app/app.ts'

const server = await startApp()
const url = await server.listen()

test.each([
  ['with a final LF', (key: string) => `${key}\n`],
  ['with a final CRLF', (key: string) => `${key}\r\n`],
  ['with a byte order mark', (key: string) => `\uFEFF${key}`],
  ['surrounded by spaces, tabs and no-break spaces', (key: string) => ` \t\u00a0${key}\u00a0 `],
])('an API key %s is accepted', async (_, written) => {
  const client = createClient({ url, apiKey: written(server.admin) })
  expect(await client.apiKeys.self()).toMatchObject({ role: 'admin', active: true })
})

test.each([
  ['empty', () => ''],
  ['only white space', () => ' \r\n'],
  ['in curly quotes', (key: string) => `“${key}”`],
  ['with a space inside', (key: string) => `${key.slice(0, 20)} ${key.slice(20)}`],
  ['with a line break inside', (key: string) => `${key.slice(0, 20)}\n${key.slice(20)}`],
  ['with a zero width space', (key: string) => `${key}\u200b`],
  ['with a NUL', (key: string) => `${key}\0`],
  ['followed by another header', (key: string) => `${key}\r\nX-Evil: 1`],
])('an API key that is %s is rejected and not repeated', (_, written) => {
  const apiKey = written(server.admin)
  let thrown: unknown
  try {
    createClient({ url, apiKey })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ name: 'PubringError', code: 'invalid_api_key_text' })
  const message = String(thrown)
  for (let at = 8; at + 10 < server.admin.length; at += 1) {
    expect(message).not.toContain(server.admin.slice(at, at + 10))
  }
})

test('a missing or wrong API key gets the error of the service', async () => {
  const none = createClient({ url })
  await expect(none.projects.list()).rejects.toMatchObject({ code: 'missing_api_key', status: 401 })
  const wrong = createClient({ url, apiKey: 'not-a-key' })
  await expect(wrong.projects.list()).rejects.toMatchObject({ code: 'invalid_api_key' })
})
