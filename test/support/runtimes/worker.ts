import { jwtVerify } from 'jose'
import { createClient } from '../../../packages/client/src/index.ts'
import { projectKeySet } from '../../../packages/client/src/verify.ts'

/** Defined when the worker is bundled: a service, the issuer of its project, and the same behind a proxy. */
declare const url: string
declare const issuer: string
declare const proxiedIssuer: string
/** A verifier key of a log. */
declare const logKey: string

// Objects that serve many requests are made once, outside of them.
const options = { maxStale: 3_000, coolDown: 500 }
const keySets = {
  direct: projectKeySet(issuer, options),
  proxied: projectKeySet(proxiedIssuer, options),
  proven: projectKeySet(issuer, { ...options, log: { key: logKey } }),
}
let idToken = ''
let exchanges = 0
const client = createClient({
  url,
  credentials: () => idToken,
  fetch: (input, init) => {
    if (String(input).endsWith('/token')) exchanges += 1
    return fetch(input, init)
  },
})

/** The outcome as JSON: `result`, or the name and code of the error. */
async function outcomeOf(run: () => Promise<unknown>): Promise<Response> {
  try {
    return Response.json({ result: await run() })
  } catch (error) {
    const { name, code, message } = error as Error & { code?: string }
    return Response.json({ name, code, message })
  }
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const [, part, name] = pathname.split('/')
    const token = searchParams.get('token') ?? ''
    if (part === 'verify') {
      const keys = keySets[name as keyof typeof keySets]
      return outcomeOf(async () => {
        const { payload } = await jwtVerify(token, keys)
        return { sub: payload.sub, status: keys.state().status }
      })
    }
    idToken ||= token
    return outcomeOf(async () => {
      const listed = await client.keys.list('payments')
      return { keys: listed.length, exchanges }
    })
  },
}
