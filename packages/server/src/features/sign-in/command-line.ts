import { hash } from 'node:crypto'
import { identityOf } from '../../kernel/access/authentication.ts'
import { type Caller, invalidSession } from '../../kernel/access/callers.ts'
import { readerAccess } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { apiKeyDigest, newApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Origin } from '../../kernel/changes.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { isoTime, now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { apiKeyChanges } from '../api-keys/changes.ts'
import { apiKeyRecord } from '../api-keys/operations.ts'
import { readSessionCaller } from './caller.ts'
import { signInChanges } from './changes.ts'
import { failure } from './claims.ts'
import type { SessionKey, SessionKeyRequest } from './contract.ts'
import { findSessionByDigest } from './reads.ts'
import { type Holder, newSession } from './sessions.ts'
import { type SessionRecord, sessions } from './stored.ts'

/** How long a code can be redeemed. */
const codeSeconds = 60

/** How long an API key of a session is valid. */
const keySeconds = 900

/** The request of `pubring login` that a person approves in the browser (RFC 8252, RFC 7636). */
interface LoginRequest {
  /** The port of 127.0.0.1 where `pubring login` waits for the code. */
  port: number
  codeChallenge: string
  state: string
  /** Who asks, as the command line says: user and host. */
  client: string
}

/** Parses the query of the page. Throws `sign_in_failed`. */
export function parseLoginRequest(query: Readonly<Record<string, unknown>>): LoginRequest {
  const text = (name: string, pattern: RegExp) => {
    const [value] = pattern.exec(String(query[name] ?? '')) ?? []
    if (value !== undefined) return value
    throw failure('This is not an address that pubring login makes. Run it again.')
  }
  return {
    port: Math.min(65_535, Number(text('port', /^[1-9]\d{0,4}$/))),
    codeChallenge: text('code_challenge', /^[\w-]{43}$/),
    state: text('state', /^[\w-]{22}$/),
    client: text('client', /^[\w.@-]{1,100}$/),
  }
}

/**
 * Lets the command line have a session with the rights of the caller's, and no longer than it. Returns
 * the address on this person's machine that takes the code there.
 *
 * The code is the secret of a session of a minute, which is found only by who also has the code verifier
 * and waits on the port. Beginning the session of the command line ends it: a code is accepted once.
 */
export async function approveLogin(
  context: RequestContext,
  { port, codeChallenge, state, client }: LoginRequest,
): Promise<string> {
  const { store, origin, clock, principal } = context
  const own = await sessions.find(store.reader, principal.credential.id)
  if (own === undefined) throw invalidSession()
  const endMs = Math.min(clock.now() + codeSeconds * 1_000, Date.parse(own.expireTime))
  const { session } = newSession(context, { ...approvedBy(own), client }, isoTime(endMs))
  const code = `${newApiKeySecret()}.${own.id}`
  await store.commit(signInChanges.createSession, {
    origin,
    session: { ...session, digest: codeDigest(code, codeChallenge, port) },
  })
  return `http://127.0.0.1:${port}/?${new URLSearchParams({ code, state })}`
}

/** The holder of a session that ends when the one in the browser is signed out. */
function approvedBy({ person, apiKeyId, signInTime, firstId, id }: SessionRecord): Holder {
  return { ...present({ person, apiKeyId, signInTime }), approvedBy: firstId ?? id }
}

/** The request of the command line. */
interface Sender {
  requestId: string
  address: string
}

/** Exchanges a code, or the renewal secret of a session. Throws `invalid_session`. */
export async function issueSessionKey(
  context: Kernel,
  { renewalSecret, ...login }: SessionKeyRequest,
  sender: Sender,
): Promise<SessionKey> {
  if (renewalSecret === undefined) return redeemCode(context, login, sender)
  const session = await findSessionByDigest(context.store.reader, renewalDigest(renewalSecret))
  return issueKey(context, await requireLive(context, session), sender.requestId)
}

async function redeemCode(
  context: Kernel,
  { code = '', codeVerifier = '', port = 0 }: SessionKeyRequest,
  { requestId, address }: Sender,
): Promise<SessionKey> {
  const { store } = context
  const digest = codeDigest(code, hash('sha256', codeVerifier, 'base64url'), port)
  const approval = await requireLive(context, await findSessionByDigest(store.reader, digest))
  // The session that approved it must not have ended in the meantime.
  const approverId = parseId(code.split('.')[1] ?? '') ?? ''
  const approver = await requireLive(context, await sessions.find(store.reader, approverId))
  const { client } = approval.session
  const holder = { ...approvedBy(approver.session), ...present({ client }), address }
  const { session, secret } = newSession(context, holder, approver.session.expireTime)
  const created = { ...session, digest: renewalDigest(secret) }
  const caller = { ...approval, session: created }
  await store.commit(signInChanges.createSession, {
    origin: originOf(caller, requestId, created.createTime, approval.session.id),
    session: created,
    replaces: approval.session.id,
  })
  return { ...(await issueKey(context, caller, requestId)), renewalSecret: secret }
}

async function issueKey(
  context: Kernel,
  caller: SessionCaller,
  requestId: string,
): Promise<SessionKey> {
  const { store, clock } = context
  const { id, expireTime } = caller.session
  const secret = newApiKeySecret()
  const nowMs = clock.now()
  const endMs = Math.min(nowMs + keySeconds * 1_000, Date.parse(expireTime))
  const createTime = isoTime(nowMs)
  await store.commit(apiKeyChanges.issueApiKey, {
    origin: originOf(caller, requestId, createTime, id),
    apiKey: apiKeyRecord(secret, createTime, {
      name: 'pubring login',
      // The least: the rights are those of the session.
      role: 'reader',
      expireTime: isoTime(endMs),
      sessionId: id,
    }),
  })
  return { apiKey: secret, expiresIn: Math.floor((endMs - nowMs) / 1_000) }
}

type SessionCaller = Caller & { session: SessionRecord }

async function requireLive(
  { store, clock, readCaller }: Kernel,
  session: SessionRecord | undefined,
): Promise<SessionCaller> {
  const look = { db: store.reader, time: now(clock), isLocked: false }
  const caller = await readSessionCaller(look, session, readCaller)
  if (session === undefined) throw invalidSession()
  return { ...caller, session }
}

/** The change is made only while the session with the id lives. */
function originOf(caller: SessionCaller, requestId: string, time: string, id: string): Origin {
  const authorization = { credential: { type: 'session', id }, access: readerAccess } as const
  return { actor: identityOf(caller).actor, requestId, time, authorization }
}

function codeDigest(code: string, codeChallenge: string, port: number): string {
  return apiKeyDigest(JSON.stringify([code, codeChallenge, port]))
}

/** Differs from the digest of a cookie, so that a renewal secret cannot serve as a cookie or approve a login. */
function renewalDigest(secret: string): string {
  return apiKeyDigest(`renewal ${secret}`)
}
