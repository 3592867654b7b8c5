import type { FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { namesSession } from '../../../kernel/access/authentication.ts'
import { signedInRecently } from '../../../kernel/access/authorization.ts'
import { readerAccess } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { contextOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import { sessionCookie } from '../../../kernel/http/request/headers.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { approveLogin, issueSessionKey, parseLoginRequest } from '../command-line.ts'
import { SessionKey, SessionKeyRequest } from '../command-line-contract.ts'
import { describeSelf } from '../sessions.ts'
import { pageServer, redirect, sendPage } from './browser.ts'
import { signInPath } from './sessions.ts'

const path = `${signInPath}/cli`

/** The page on which a person who has signed in approves the request of `pubring login`. */
export function commandLinePage(app: App, kernel: Kernel): void {
  const { authenticator } = app
  const { publicUrl } = kernel.config
  const cookie = sessionCookie(publicUrl)
  const serve = pageServer(app, publicUrl)
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
      if (!namesSession(String(request.headers['x-api-key']))) {
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
      const issued = await issueSessionKey(kernel, request.body, request.id).catch((error) => {
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
