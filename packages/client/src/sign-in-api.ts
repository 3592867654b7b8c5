import type { CallOptions } from './call-options.ts'
import type { Person, Self, Session, SignedOut, SignInOptions } from './types.ts'

/**
 * Sessions: what people have in a browser instead of an API key. A client in a page of the service
 * uses the session of the browser with the API key `session` and a `fetch` that sends cookies.
 *
 * @example
 * for (const { name, lastUseTime } of await client.sessions.list()) console.log(name, lastUseTime)
 */
export type SessionOperations = {
  /** How people can sign in. Needs no API key. */
  options(options?: CallOptions): Promise<SignInOptions>
  /** Who the caller is: a person or an API key, with their roles and their session. */
  self(options?: CallOptions): Promise<Self>
  /** Exchanges the API key of this client for a session, whose secret is in a cookie. */
  create(options?: CallOptions): Promise<Session>
  /** Live sessions, oldest first: those of the caller; for admins of all projects all, or of one person. */
  list(options?: CallOptions & { person?: string }): Promise<Session[]>
  /** Ends a session, with the next request. */
  end(id: string, options?: CallOptions): Promise<void>
  /** Ends all sessions of a person. */
  endAll(person: string, options?: CallOptions): Promise<void>
  /** Ends the session of this client. */
  signOut(options?: CallOptions): Promise<SignedOut>
}

/**
 * People who have signed in.
 *
 * @example
 * const people = await client.people.list()
 */
export type PersonOperations = {
  /** All people, by first sign-in. */
  list(options?: CallOptions): Promise<Person[]>
  /** Erases name and email, and ends all sessions of the person. */
  delete(id: string, options?: CallOptions): Promise<void>
}
