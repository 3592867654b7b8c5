import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createPlaces } from '../../../async/places.ts'
import { describeCause, errorTable, PubringError } from '../../../errors.ts'
import { namedCookie } from '../../../kernel/access/authentication.ts'
import { signedInRecently } from '../../../kernel/access/authorization.ts'
import { readerAccess } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { noPlace } from '../../../kernel/http/faults.ts'
import { contextOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import { clientAddress, sessionCookie, signInCookie } from '../../../kernel/http/request/headers.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { approveLogin, issueSessionKey, parseLoginRequest } from '../command-line.ts'
import { SessionKey, SessionKeyRequest } from '../contract.ts'
import { describeSelf } from '../sessions.ts'
import { type SignIn, signInSeconds } from '../sign-in.ts'
import { deviceOf } from './device.ts'
import { signInPath } from './sessions.ts'

/** Sign-ins that are finished at a time, each with requests to the provider; a quarter for one address. */
const maxCallbacks = { capacity: 32, share: 25 }

/**
 * The addresses that a browser visits to sign in through the OpenID provider. Failures are pages, not
 * problem details: people read them.
 */
export function signInPages(app: App, { config }: Kernel, signIn: SignIn): void {
  const { publicUrl, sessionLifetime } = config
  const attempt = signInCookie(publicUrl)
  const session = sessionCookie(publicUrl)
  const serve = pageServer(publicUrl)
  const places = createPlaces(maxCallbacks)
  const reason = 'Too many sign-ins from your address have failed.'
  const spend = app.failureLimit({ name: 'sign-ins', reason })

  app.route({
    method: 'GET',
    url: signInPath,
    schema: { hide: true },
    handler: (request, reply) =>
      serve(request, reply, async () => {
        const { return: path, recent } = Object(request.query)
        const returnPath = typeof path === 'string' ? path : undefined
        const { url, cookie } = await signIn.begin(returnPath, recent === 'true')
        attempt.set(reply, cookie, signInSeconds)
        return redirect(reply, url)
      }),
  })
  app.route({
    method: 'GET',
    url: `${signInPath}/callback`,
    // A thief who uses up the changes of a person must not keep them from signing in.
    config: { changes: () => 0 },
    schema: { hide: true },
    handler: (request, reply) =>
      serve(request, reply, async () => {
        const [, search = ''] = /^[^?]*(\?.*)$/.exec(request.url) ?? []
        const cookie = attempt.read(request)
        const sessionSecret = session.read(request)
        const leave = places.take([clientAddress(request)])
        if (typeof leave === 'string') throw noPlace(leave, refusals, 2)
        let giveBack: (() => void) | undefined
        const beforeRedemption = () => {
          giveBack = spend?.(request, reply)
        }
        const device = deviceOf(request)
        const callback = { search, cookie, sessionSecret, requestId: request.id, device }
        const result = await signIn
          .finish({ ...callback, beforeRedemption })
          .catch((error) => {
            if (!isSignInFailure(error)) giveBack?.()
            throw error
          })
          .finally(leave)
        giveBack?.()
        // Cleared only now: after a failure the cookie may belong to another tab, or serve again.
        attempt.clear(reply)
        const { notes } = result
        if ('refusedClaims' in result) {
          const { refusedClaims, loggedNotes } = result
          const claims = Object.entries(refusedClaims)
          const facts = claims.map(([name, value]) => [name, JSON.stringify(value)] as const)
          const logged = { claims: Object.keys(refusedClaims), notes: [...notes, ...loggedNotes] }
          request.log.warn(logged, noRule.title)
          const text = [...notes, noRule.text].join(' ')
          return sendPage(reply.code(403), { publicUrl, title: noRule.title, text, facts })
        }
        if (notes.length > 0) request.log.warn({ notes }, 'A person signed in with warnings.')
        session.set(reply, result.secret, sessionLifetime)
        return redirect(reply, `${publicUrl}${result.returnPath}`)
      }),
  })
}

const refusals = {
  full: 'Too many people are signing in. Load this page again in a few seconds.',
  share_used_up:
    'Too many sign-ins from your address are going on. Load this page again in a few seconds.',
}

function isSignInFailure(error: unknown): boolean {
  return error instanceof PubringError && error.code === 'sign_in_failed'
}

/** Answers with a page if the step fails. */
function pageServer(publicUrl: string) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    step: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    try {
      return await step()
    } catch (error) {
      if (!(error instanceof PubringError)) throw error
      recordRefusal(request, error)
      const { status, title } = errorTable[error.code]
      const { retryAfter } = error.extras
      if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
      return sendPage(reply.code(status), { publicUrl, title, text: error.message })
    }
  }
}

/** Strangers cause refusals, so a line says why they are refused, and how often. */
function recordRefusal(request: FastifyRequest, error: PubringError): void {
  request.problem = error
  const { code, message, cause } = error
  if (!code.startsWith('sign_in_')) return
  const line = { level: 'warn', code, message, cause: describeCause(cause) } as const
  request.server.countedLog.write(line, request.log)
}

const noRule = {
  title: 'No access',
  text: 'You have signed in, but no access rule gives you a role here. Ask an administrator for a rule that your claims meet. These arrived:',
}

function redirect(reply: FastifyReply, url: string): FastifyReply {
  return reply.code(302).headers({ location: url, 'cache-control': 'no-store' }).send()
}

interface Page {
  publicUrl: string
  title: string
  text: string
  facts?: readonly (readonly [name: string, value: string])[]
  /** A button, and the script that runs it. */
  button?: { label: string; script: string }
}

/** A page that runs no script but that of its button. */
function sendPage(
  reply: FastifyReply,
  { publicUrl, title, text, facts = [], button }: Page,
): FastifyReply {
  const nonce = randomBytes(16).toString('base64')
  const list = facts.map(
    ([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`,
  )
  const action =
    button === undefined
      ? ''
      : `<p><button type="button">${escapeHtml(button.label)}</button></p>
<p role="alert"></p>
<script nonce="${nonce}">${button.script}</script>
`
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Pubring</title>
<style nonce="${nonce}">body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}dt{font-weight:600}dd{overflow-wrap:anywhere}</style>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
<dl>${list.join('\n')}</dl>
${action}<p><a href="${escapeHtml(publicUrl)}/console/">Back to the console</a></p>
</main>
</html>
`
  return reply
    .headers({
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'cache-control': 'no-store',
    })
    .type('text/html; charset=utf-8')
    .send(html)
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

const path = `${signInPath}/cli`

/** The page on which a person who has signed in approves the request of `pubring login`. */
export function commandLinePage(app: App, kernel: Kernel): void {
  const { authenticator } = app
  const { publicUrl } = kernel.config
  const cookie = sessionCookie(publicUrl)
  const serve = pageServer(publicUrl)
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const { client, port } = parseLoginRequest(Object(request.query))
    const principal = await authenticator
      .authenticate('session', cookie.read(request))
      .catch((error) => {
        if (!(error instanceof PubringError) || error.code !== 'invalid_session') throw error
      })
    const { session = {}, holder } = principal ?? {}
    const isApiKey = holder !== undefined && 'apiKeyId' in holder
    if (principal === undefined || !(isApiKey || signedInRecently(session, kernel.clock.now()))) {
      const here = `${path}${request.url.slice(request.url.indexOf('?'))}`
      const query = new URLSearchParams({ recent: 'true', return: here })
      return redirect(reply, `${publicUrl}${signInPath}?${query}`)
    }
    const { name } = await describeSelf(kernel, principal)
    return sendPage(reply, {
      publicUrl,
      title: 'Sign in on the command line?',
      text: 'Continue only if you have just run pubring login yourself, on this machine. It can then do what you can do, until your session here would expire at the latest.',
      facts: [
        ['You are', name],
        ['It says it is', client],
        ['It waits at', `127.0.0.1:${port}`],
      ],
      button: { label: 'Continue', script: approval },
    })
  }
  app.route({
    method: 'GET',
    url: path,
    schema: { hide: true },
    handler: (request, reply) => serve(request, reply, () => handle(request, reply)),
  })
}

/** The approval, and the exchange of the code that it brings to the command line. Only `pubring login` uses them. */
export function commandLineRoutes(app: App, kernel: Kernel): void {
  const { spendFailure } = app
  app.route({
    method: 'POST',
    url: path,
    config: { access: { ...readerAccess, recentSignIn: 'always' } },
    schema: { hide: true, body: Type.Object({}) },
    handler: async (request, reply) => {
      // An API key of a session must not make another session.
      if (namedCookie(String(request.headers['x-api-key']))?.type !== 'session') {
        throw new PubringError('cross_site_request', 'Only a browser can approve a login.')
      }
      const login = parseLoginRequest(Object(request.body))
      const url = await approveLogin(contextOf(request, kernel), login)
      return reply.header('cache-control', 'no-store').send({ url })
    },
  })
  app.route({
    method: 'POST',
    url: '/v1/session-keys',
    schema: { hide: true, body: SessionKeyRequest, response: { 200: SessionKey } },
    handler: async (request, reply) => {
      const sender = { requestId: request.id, address: clientAddress(request) }
      const issued = await issueSessionKey(kernel, request.body, sender).catch((error) => {
        if (error instanceof PubringError) spendFailure?.(request, reply)
        throw error
      })
      return reply.header('cache-control', 'no-store').send(issued)
    },
  })
}

/** The header is one that forms and other sites cannot send, so nothing is approved without the click. */
const approval = `
document.querySelector('button').addEventListener('click', async () => {
  const headers = { 'x-api-key': 'session', 'content-type': 'application/json' }
  const body = JSON.stringify(Object.fromEntries(new URLSearchParams(location.search)))
  const response = await fetch(location.pathname, { method: 'POST', headers, body })
  const { detail, url } = await response.json()
  if (response.ok) location.replace(url)
  else document.querySelector('[role=alert]').textContent = detail
})`

/**
 * The OpenID provider ends sessions here (OpenID Connect Back-Channel Logout 1.0 section 2.8). The token
 * authenticates it, and errors have the format that the provider expects.
 */
export function logoutRoute(app: App, signIn: SignIn): void {
  const reason = 'Too many logout tokens from your address are not valid.'
  const spend = app.failureLimit({ name: 'logouts', reason })
  app.route({
    method: 'POST',
    url: `${signInPath}/back-channel-logout`,
    config: { form: true },
    schema: { hide: true, body: Type.Object({ logout_token: Type.String() }) },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      try {
        await signIn.logOut(request.body.logout_token, request.id).catch((error) => {
          // Afterwards, so that bad tokens never keep out a good one from the same address.
          if (isSignInFailure(error)) spend?.(request, reply)
          throw error
        })
        return reply.code(200).send()
      } catch (error) {
        if (!(error instanceof PubringError)) throw error
        recordRefusal(request, error)
        const { status } = errorTable[error.code]
        return reply.code(status).send({ error: 'invalid_request' })
      }
    },
  })
}
