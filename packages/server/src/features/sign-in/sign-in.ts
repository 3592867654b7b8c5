import { createHmac, randomBytes } from 'node:crypto'
import { PubringError } from '../../errors.ts'
import { recentSignInSeconds } from '../../kernel/access/authorization.ts'
import { apiKeyDigest, parseApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { systemLedgerId } from '../../kernel/ledger/chain.ts'
import { readEventRows } from '../../kernel/ledger/event-reads.ts'
import { oneFor } from '../../kernel/shared.ts'
import { plainFault } from '../../kernel/values/labels.ts'
import { isoTime, now } from '../../kernel/values/times.ts'
import { AnswerError, OutboundError } from '../../outbound/outbound.ts'
import { present } from '../../runtime/present.ts'
import { grantsOf, missingClaims } from '../access-rules/people.ts'
import { readPeopleRules } from '../access-rules/reads.ts'
import { signInChanges } from './changes.ts'
import { claimNotes, failure, missingClaimNotes, storedClaims, toPerson } from './claims.ts'
import { SignInRefusal } from './provider/refusal.ts'
import type { SignInChecks } from './provider/steps.ts'
import { findSessionByDigest, readSessions } from './reads.ts'
import { type NewSession, newSession } from './sessions.ts'
import { type Device, isSamePerson, type SessionRecord } from './stored.ts'

/** Seconds that a sign-in at the provider may take. */
export const signInSeconds = 600

/** Milliseconds by which the clock of the provider may be behind when it ends sessions. */
const logoutLeewayMs = 60_000

/** The request of the browser to the address that the provider redirects to. */
interface Callback {
  /** The query, with `?`. */
  search: string
  cookie: string | undefined
  /** The secret of the session that the new one takes the place of. */
  sessionSecret: string | undefined
  requestId: string
  device: Device
  /**
   * Called just before the provider is asked; throws to refuse it. Not earlier: other sites can have a
   * browser call back, but not with the state of its cookie.
   */
  beforeRedemption(): void
}

/** The outcome, with sentences about what the provider left out, or what else may be wrong. */
type SignInResult = { notes: string[] } & (
  | (NewSession & { returnPath: string })
  /** No rule gives the person a role; these are their claims, and notes that they must not see. */
  | { refusedClaims: Record<string, unknown>; loggedNotes: string[] }
)

export type SignIn = NonNullable<Awaited<ReturnType<typeof signInOf>>>

/** Signing in through the configured OpenID provider; undefined without one. */
export const signInOf = oneFor(async (context: Kernel) => {
  const { config, store, clock } = context
  const { oidc, publicUrl } = config
  if (oidc === undefined) return undefined
  // Loads libraries that servers without sign-in do not need.
  const { createProvider } = await import('./provider/provider.ts')
  const provider = createProvider(context, oidc, `${publicUrl}/sign-in/callback`)
  let firstHash: string | undefined

  /**
   * A secret that all replicas share, so that no stranger can make a cookie: the hash of the first
   * event of the system ledger.
   */
  async function signingKey(): Promise<string> {
    const first = { after: 0, limit: 1 }
    firstHash ??= (await readEventRows(store.reader, systemLedgerId, first))[0]?.hash
    if (firstHash === undefined) throw new Error('The system ledger is empty.')
    return firstHash
  }

  async function redeem(callback: Callback, attempt: Attempt | undefined) {
    if (attempt === undefined) throw lostAttempt()
    const isLate = clock.now() - attempt.startMs > signInSeconds * 1_000
    if (isLate) throw lostAttempt()
    const checks = checksOf(attempt, await signingKey())
    const parameters = new URLSearchParams(callback.search)
    if (parameters.get('state') !== checks.state) throw lostAttempt()
    callback.beforeRedemption()
    return provider.redeem(parameters, checks).catch(rethrowFault)
  }

  return {
    /**
     * Returns where to send the browser, and the value of the cookie that ties the sign-in to it.
     * Throws `sign_in_unavailable`. `recent`: the person is to prove again who they are.
     */
    async begin(returnPath: string | undefined, recent: boolean) {
      const secret = randomBytes(32).toString('base64url')
      const path = localPath(returnPath)
      const attempt = { secret, startMs: clock.now(), recent, returnPath: path }
      const checks = checksOf(attempt, await signingKey())
      const url = await provider.authorizationUrl(checks).catch(rethrowFault)
      return { url, cookie: formatAttempt(attempt) }
    },

    /** Throws `sign_in_failed` or `sign_in_unavailable`. */
    async finish(callback: Callback): Promise<SignInResult> {
      const attempt = parseAttempt(callback.cookie)
      const identity = await redeem(callback, attempt)
      const { issuer, subject, notes } = identity
      const claims = storedClaims(identity)
      const rules = await readPeopleRules(store.reader, { isLocked: false })
      if (grantsOf({ issuer, claims }, rules).length === 0) {
        const missing = missingClaims({ issuer, claims }, rules)
        return {
          refusedClaims: claims,
          notes: [...notes, ...claimNotes(identity)],
          loggedNotes: missingClaimNotes(identity, missing),
        }
      }
      const person = toPerson(identity, claims, now(clock))
      const { sid, auth_time: authTime } = identity.signed
      const previous = parseApiKeySecret(callback.sessionSecret ?? '')
      const replaced =
        previous === undefined
          ? undefined
          : await findSessionByDigest(store.reader, apiKeyDigest(previous))
      const isSame = isSamePerson(replaced?.person, identity)
      const providerSessionId =
        typeof sid === 'string' && plainFault(sid) === undefined ? sid : undefined
      const created = newSession(context, {
        ...callback.device,
        person: { id: person.id, issuer, subject, claims, ...present({ providerSessionId }) },
        ...present({
          signInTime:
            typeof authTime === 'number'
              ? isoTime(Math.min(authTime * 1_000, clock.now()))
              : undefined,
          firstId: isSame ? (replaced?.firstId ?? replaced?.id) : undefined,
        }),
      })
      const { id: sessionId, createTime: time } = created.session
      const actor = { name: '', user: { issuer, subject, sessionId } }
      await store.commit(signInChanges.createSession, {
        origin: { actor, requestId: callback.requestId, time },
        session: created.session,
        person,
        ...(replaced && { replaces: replaced.id }),
      })
      return { ...created, notes, returnPath: attempt?.returnPath ?? localPath(undefined) }
    },

    /** Ends the sessions that a logout token names. Throws `sign_in_failed` if it is not valid. */
    async logOut(token: string, requestId: string): Promise<void> {
      const { issuer, subject, providerSessionId, issueTime, once } = await provider
        .verifyLogoutToken(token)
        .catch(rethrowFault)
      const latest = isoTime(Date.parse(issueTime) + logoutLeewayMs)
      const isMeant = ({ person, createTime }: SessionRecord) =>
        person?.issuer === issuer &&
        createTime <= latest &&
        person.subject === (subject ?? person.subject) &&
        person.providerSessionId === (providerSessionId ?? person.providerSessionId)
      const sessions = await readSessions(
        store.reader,
        subject === undefined ? 'all' : { issuer, subject },
      )
      const ids = sessions.filter(isMeant).map(({ id }) => id)
      const origin = { actor: { name: 'OpenID provider' }, requestId, time: now(clock) }
      await store.commit(signInChanges.endSessions, {
        origin,
        ended: { ids },
        reason: 'provider_logout',
        once,
      })
    },

    /** Where a person signs out at the provider; undefined while it cannot be reached. */
    async signOutUrl(session: SessionRecord | undefined): Promise<string | undefined> {
      if (session?.person === undefined) return undefined
      const { claims, subject } = session.person
      const { email, preferred_username: name = email } = claims
      const parameters = {
        logout_hint: typeof name === 'string' ? name : subject,
        post_logout_redirect_uri: `${publicUrl}/console/`,
      }
      return provider.endSessionUrl(parameters).catch(() => undefined)
    },

    replaceSecrets: provider.replaceSecrets,
  }
})

/** A sign-in in progress. Only its cookie holds it, so it takes no place on the server. */
interface Attempt {
  secret: string
  startMs: number
  recent: boolean
  returnPath: string
}

function formatAttempt({ secret, startMs, recent, returnPath }: Attempt): string {
  const path = Buffer.from(returnPath).toString('base64url')
  return [secret, startMs, recent ? 1 : 0, path].join('.')
}

function parseAttempt(cookie = ''): Attempt | undefined {
  const [, secret, startMs, recent, path] =
    /^([\w-]{43})\.(\d{1,15})\.([01])\.([\w-]{0,1000})$/.exec(cookie) ?? []
  if (secret === undefined || path === undefined) return undefined
  const returnPath = localPath(Buffer.from(path, 'base64url').toString('utf8'))
  return { secret, startMs: Number(startMs), recent: recent === '1', returnPath }
}

/**
 * State, nonce and PKCE verifier follow from the random secret in the cookie and the rest of it: another
 * browser has another secret, and an edited cookie another state. So an attacker cannot have
 * a victim finish a sign-in that the attacker began (session fixation, RFC 9700 section 4.7). Without
 * the signing key nobody knows the state of a cookie of their own, so the provider is not asked for it.
 */
function checksOf(attempt: Attempt, signingKey: string): SignInChecks {
  const derive = (use: string) =>
    createHmac('sha256', `${signingKey} ${attempt.secret}`)
      .update(`${use} ${formatAttempt(attempt)}`)
      .digest('base64url')
  return {
    state: derive('state'),
    nonce: derive('nonce'),
    codeVerifier: derive('code_verifier'),
    ...(attempt.recent ? { maxAge: recentSignInSeconds } : {}),
  }
}

/** A page of the console, or that of `pubring login`; the console for every other text (no open redirect). */
function localPath(text: string | undefined): string {
  const isLocal =
    /^\/(?:console\/(?:#\/[\w\-./~%?=&]{0,500})?|sign-in\/cli\?[\w\-.~%=&]{0,500})$/.test(
      text ?? '',
    )
  return isLocal && text !== undefined ? text : '/console/'
}

function lostAttempt(): PubringError {
  return failure(
    'This sign-in took longer than ten minutes, was finished before, or was begun in another browser, or another tab has begun one since.',
  )
}

/** Rejects with a sentence for the person; the cause is for the log. */
function rethrowFault(error: unknown): never {
  const refusal = error instanceof SignInRefusal ? error : undefined
  const cause = refusal?.finding.error ?? error
  if (cause instanceof OutboundError && !(cause instanceof AnswerError)) {
    throw new PubringError(
      'sign_in_unavailable',
      'The OpenID provider cannot be reached. Those who are signed in stay signed in; in an emergency, sign in with an API key.',
      { retryAfter: 10 },
      error,
    )
  }
  const step = refusal === undefined ? '' : ` (step ${refusal.step})`
  throw failure(
    refusal?.finding.shown ??
      `The OpenID provider sent something that is not accepted${step}. The log of the server says what.`,
    error,
  )
}
