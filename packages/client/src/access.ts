import {
  create,
  patch,
  read,
  readList,
  remove,
  repeatable,
  type Send,
  withConditions,
} from './operations.ts'
import type { CallOptions, Confirmation, Precondition } from './options.ts'
import type {
  AccessRule,
  AccessRuleCheck,
  AccessRuleCheckRequest,
  AccessRuleCreate,
  AccessRuleUpdate,
  ApiKey,
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyUpdate,
  Person,
  Self,
  Session,
  SignedOut,
  SignInOptions,
} from './types.ts'
import { pathSegment } from './validation.ts'

export function apiKeyOperations(send: Send) {
  const path = (id: string) => `/api-keys/${pathSegment(id, 'API key id')}`
  return {
    /**
     * All API keys that this one may see, oldest first, without their secrets: those that tokens were
     * `exchanged` for, or the others.
     */
    list: async ({ exchanged, ...options }: CallOptions & { exchanged?: boolean } = {}) =>
      send<ApiKey[]>(readList('/api-keys', { exchanged }), options),
    get: async (id: string, options?: CallOptions) => send<ApiKey>(read(path(id)), options),
    /** The API key of this client. */
    self: async (options?: CallOptions) => send<ApiKey>(read('/api-keys/self'), options),
    /** The result contains the secret, which is shown only once. Not retried if it may have succeeded. */
    create: async (body: ApiKeyCreate, options?: CallOptions) =>
      send<ApiKeyCreated>(create('/api-keys', body), options),
    update: async (id: string, changes: ApiKeyUpdate, options?: CallOptions & Confirmation) =>
      send<ApiKey>(withConditions(patch(path(id), changes), options), options),
    /** Deletes the API key permanently; takes effect with the next request. */
    delete: async (id: string, options?: CallOptions & Confirmation) =>
      send<void>(withConditions(remove(path(id)), options), options),
  }
}

export function accessRuleOperations(send: Send) {
  const path = (id: string) => `/access-rules/${pathSegment(id, 'access rule id')}`
  type Conditions = CallOptions & Precondition & Confirmation
  return {
    /** All access rules, oldest first. */
    list: async (options?: CallOptions) => send<AccessRule[]>(readList('/access-rules'), options),
    get: async (id: string, options?: CallOptions) => send<AccessRule>(read(path(id)), options),
    /** Not retried if it may have succeeded. */
    create: async (body: AccessRuleCreate, options?: CallOptions) =>
      send<AccessRule>(create('/access-rules', body), options),
    /**
     * Takes effect with the next request of each session. Every change but that of the name ends the API
     * keys that were exchanged under the rule.
     */
    update: async (id: string, changes: AccessRuleUpdate, options?: Conditions) =>
      send<AccessRule>(withConditions(patch(path(id), changes), options), options),
    /** Ends the API keys that were exchanged under the rule. */
    delete: async (id: string, options?: Conditions) =>
      send<void>(withConditions(remove(path(id)), options), options),
    /**
     * Explains why the rule gives its role or not, by a token or, for people, their claims; or whom a
     * change of it concerns. Nothing is issued, changed or stored.
     */
    check: async (id: string, body: AccessRuleCheckRequest, options?: CallOptions) =>
      send<AccessRuleCheck>(repeatable(`${path(id)}/checks`, body, 'accepted'), options),
    /** Names the people who would gain access by a new rule, which is not stored. */
    checkNew: async (body: AccessRuleCreate, options?: CallOptions) =>
      send<AccessRuleCheck>(repeatable('/access-rules/checks', body, 'accepted'), options),
  }
}

export function sessionOperations(send: Send) {
  const path = '/sessions'
  return {
    /** How people can sign in. Needs no API key. */
    options: async (options?: CallOptions) =>
      send<SignInOptions>({ ...read('/sign-in-options', 'consoleUrl'), access: 'public' }, options),
    /** Who the caller is: a person or an API key, with their roles and their session. */
    self: async (options?: CallOptions) => send<Self>(read('/self', 'type'), options),
    /** Exchanges the API key of this client for a session, whose secret is in a cookie. */
    create: async (options?: CallOptions) => send<Session>(create(path), options),
    /** Live sessions, oldest first: those of the caller; for admins and auditors of all projects all. */
    list: async (options?: CallOptions) => send<Session[]>(readList(path), options),
    /** Ends a session, with the next request. */
    end: async (id: string, options?: CallOptions) =>
      send<void>(remove(`${path}/${pathSegment(id, 'session id')}`), options),
    /** Ends all sessions of a person. */
    endAll: async (person: string, options?: CallOptions) =>
      send<void>({ ...remove(path), query: { person } }, options),
    /** Ends the session of this client. */
    signOut: async (options?: CallOptions) =>
      send<SignedOut>({ method: 'DELETE', path: `${path}/self`, retry: 'always' }, options),
  }
}

export function personOperations(send: Send) {
  return {
    /** All people, by first sign-in. */
    list: async (options?: CallOptions) => send<Person[]>(readList('/people'), options),
    /** Erases name and email, and ends all sessions of the person. */
    delete: async (id: string, options?: CallOptions) =>
      send<void>(remove(`/people/${pathSegment(id, 'person id')}`), options),
  }
}
