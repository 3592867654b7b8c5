import { createInterface } from 'node:readline'
import { jwtVerify } from 'jose'
import { createClient, PubringError } from '../../../packages/client/src/index.ts'
import { KeySetError, projectKeySet } from '../../../packages/client/src/verify.ts'

/**
 * A program for runtimes that have the command line of Node. Prints a line of JSON for each step, and
 * waits for a line of input before the next one.
 */
const { url, issuer, apiKey, token, bare } = JSON.parse(process.env.TEST_INPUT ?? '{}')
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
async function step(result: unknown): Promise<void> {
  process.stdout.write(`${JSON.stringify(result)}\n`)
  await input.next()
}

const keys = projectKeySet(issuer)
const { payload } = await jwtVerify(token, keys)
// The first long poll shows whether changes arrive immediately.
await step({ sub: payload.sub, status: keys.state().status })
let code: string | undefined
while (code === undefined) {
  await jwtVerify(token, keys).catch((error) => {
    code = error instanceof KeySetError ? error.code : String(error)
  })
  await new Promise((resolve) => setTimeout(resolve, 10))
}
await step({ code })
keys.close()

const client = createClient({ url, apiKey })
const [first] = await client.keys.list('payments')
for await (const event of client.events.follow({ project: 'payments' })) {
  await step({ algorithm: first?.algorithm, revision: event.revision })
  break
}
const refused = await client.keys.get('payments', 'absent').catch((error) => error)
const unreachable = await createClient({ url: bare, retries: 0 })
  .projects.get('a')
  .catch((error) => error)
await step([refused, unreachable].map((error) => error instanceof PubringError && error.code))
process.exit(0)
