import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { listen, openShell } from '../cli/support.ts'

let onUnanswered = () => {}

/** Has the full key set of a project, and answers nothing else. */
const server = await listen(({ url = '' }, response) => {
  if (!url.includes('/jwks-full.json')) return onUnanswered()
  const id = '11111111-1111-4111-8111-111111111111'
  response.setHeader('content-location', `/v1/projects/${id}/.well-known/jwks-full.json`)
  response.end('{"keys":[]}')
})
const shell = openShell(() => ({ PUBRING_URL: server.url }))
afterAll(() => {
  shell.remove()
  server.close()
})

const signer = join(shell.folder, 'signer')
const agents = {
  follower: ['jwks', 'follow', 'one', '--out', join(shell.folder, 'keys.json')],
  keeper: `key keep ${signer} --every 1h --token-lifetime 1m --project one`.split(' '),
}

test.for(Object.entries(agents))('the %s does not wait for the server to end', async ([, args]) => {
  for (const once of [[], ['--once']]) {
    const controller = new AbortController()
    onUnanswered = () => controller.abort()
    const ran = await shell.pubring([...args, ...once], { signal: controller.signal })
    // The terminal of the tests sets no exit code for an interruption.
    expect(ran).toEqual({ code: 0, stdout: '', stderr: '' })
  }
})
