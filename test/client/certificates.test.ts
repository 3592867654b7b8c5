import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { projectKeySet } from '../../client/src/verify.ts'
import { startApp } from '../support/app/app.ts'
import { startTlsProxy } from '../support/network/tls-proxy.ts'

const server = await startApp()
const proxy = await startTlsProxy()
proxy.forwardTo(await server.listen())

test('a certificate of a trusted authority is accepted', async () => {
  const client = createClient({ url: proxy.url, apiKey: server.admin })
  expect(await client.projects.get('payments')).toMatchObject({ id: server.project.id })
  const keys = projectKeySet(`${proxy.url}/v1/projects/payments`)
  await keys.ready()
  expect(keys.state().status).toBe('live')
  keys.close()
})

test('an untrusted certificate is rejected, and the error says what to do', async () => {
  const source = new URL('../../client/src/index.ts', import.meta.url).href
  const program = `
    import { createClient } from '${source}'
    const client = createClient({ url: '${proxy.url}', retries: 0 })
    await client.projects.list().catch(({ code, message }) => console.log(code, message))
  `
  const args = ['--input-type=module', '--no-warnings', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toMatch(/^unreachable .*certificate is not trusted.*NODE_EXTRA_CA_CERTS/)
})
