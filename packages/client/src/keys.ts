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
import type { CallOptions, Precondition } from './options.ts'
import { projectPath } from './projects.ts'
import type {
  Algorithm,
  JwtKey,
  JwtKeyCreate,
  JwtKeyEnded,
  JwtKeyUpdate,
  JwtKeyUpdated,
  JwtKeyWithDetails,
  KeyCheck,
  KeyImport,
  KeyImportReport,
  KeyReporter,
  KeyStateEntry,
  KeyUseReport,
  KeyUsesReported,
  RegistrationLink,
  RegistrationLinkCreate,
  RegistrationLinkCreated,
  Rotation,
  RotationCreate,
  RotationUpdate,
  Verifiers,
} from './types.ts'
import { pathSegment } from './validation.ts'

export function keyOperations(send: Send) {
  const all = (project: string) => `${projectPath(project)}/jwt-keys`
  const one = (project: string, kid: string) => `${all(project)}/${pathSegment(kid, 'kid')}`
  return {
    /** All keys, oldest first; with `active: true` only the active ones. */
    list: async (
      project: string,
      { active, ...options }: CallOptions & { active?: boolean } = {},
    ) => send<JwtKey[]>(readList(all(project), { active }), options),
    get: async (project: string, kid: string, options?: CallOptions) =>
      send<JwtKeyWithDetails>(read(one(project, kid)), options),
    /** The state of each key, in the order of `list`. */
    states: async (project: string, options?: CallOptions) =>
      send<KeyStateEntry[]>(readList(`${projectPath(project)}/key-states`), options),
    /**
     * Registers a key and returns its `kid`. Not retried if it may have succeeded; a repeated call fails
     * with `duplicate_key` and the `kid` in `error.problem.kid`.
     */
    create: async (project: string, body: JwtKeyCreate, options?: CallOptions) =>
      send<{ kid: string }>(create(all(project), body, 'kid'), options),
    /**
     * Changes the members in the patch and returns the updated key. `warnings` says if the project is
     * left without an active key, or the key vouched for others that are active.
     */
    update: async (
      project: string,
      kid: string,
      changes: JwtKeyUpdate,
      options?: CallOptions & Precondition,
    ) => send<JwtKeyUpdated>(withConditions(patch(one(project, kid), changes), options), options),
    /** Fails with `key_active` while the key is active. */
    delete: async (project: string, kid: string, options?: CallOptions & Precondition) =>
      send<void>(withConditions(remove(one(project, kid)), options), options),
    /**
     * Lets a key end itself, by a token that it signed (`typ: pubring-end+jwt`). Needs no API key. Safe to
     * repeat: an end can only be set or brought nearer.
     */
    end: async (project: string, kid: string, token: string, options?: CallOptions) => {
      const operation = repeatable(`${one(project, kid)}/end`, { token }, 'expireTime')
      return send<JwtKeyEnded>({ ...operation, access: 'public' }, options)
    },
    /** Imports all keys or none. Safe to repeat: keys that already exist are reported as `present`. */
    import: async (project: string, body: KeyImport, options?: CallOptions) =>
      send<KeyImportReport>(
        repeatable(`${projectPath(project)}/key-imports`, body, 'items'),
        options,
      ),
    /** Checks a key without registering it. */
    check: async (body: { publicKeyPem: string; algorithm?: Algorithm }, options?: CallOptions) =>
      send<KeyCheck>(repeatable('/key-checks', body, 'accepted'), options),
  }
}

export function registrationLinkOperations(send: Send) {
  const all = (project: string) => `${projectPath(project)}/registration-links`
  const one = (project: string, id: string) => `${all(project)}/${pathSegment(id, 'link id')}`
  return {
    /** All open links and the newest of the others, the newest first. */
    list: async (project: string, options?: CallOptions) =>
      send<RegistrationLink[]>(readList(all(project)), options),
    get: async (project: string, id: string, options?: CallOptions) =>
      send<RegistrationLink>(read(one(project, id)), options),
    /** The result contains the address, which is shown only once. Not retried if it may have succeeded. */
    create: async (project: string, body: RegistrationLinkCreate, options?: CallOptions) =>
      send<RegistrationLinkCreated>(create(all(project), body), options),
    /** Revokes the link, and ends the session of the browser that opened it. */
    delete: async (project: string, id: string, options?: CallOptions) =>
      send<void>(remove(one(project, id)), options),
  }
}

export function rotationOperations(send: Send) {
  const all = (project: string) => `${projectPath(project)}/rotations`
  const one = (project: string, id: string) => `${all(project)}/${pathSegment(id, 'rotation id')}`
  return {
    /** The rotations under way first, then the ended ones, each newest first. */
    list: async (project: string, options?: CallOptions) =>
      send<Rotation[]>(readList(all(project)), options),
    get: async (project: string, id: string, options?: CallOptions) =>
      send<Rotation>(read(one(project, id)), options),
    /** Changes no key. Not retried if it may have succeeded; fails with `rotation_exists` then. */
    start: async (project: string, body: RotationCreate, options?: CallOptions) =>
      send<Rotation>(create(all(project), body), options),
    update: async (
      project: string,
      id: string,
      changes: RotationUpdate,
      options?: CallOptions & Precondition,
    ) => send<Rotation>(withConditions(patch(one(project, id), changes), options), options),
    /**
     * Sets the end of the old key, once every signer uses the new one: when the last token of the old one
     * has expired. Fails with `rotation_not_ready` until verifiers know the new key.
     */
    finish: async (project: string, id: string, options?: CallOptions) =>
      send<Rotation>(create(`${one(project, id)}/finish`), options),
    /** Changes no key. */
    abandon: async (project: string, id: string, options?: CallOptions & Precondition) =>
      send<void>(withConditions(remove(one(project, id)), options), options),
  }
}

export function keyUseOperations(send: Send) {
  const all = (project: string) => `${projectPath(project)}/key-uses`
  return {
    /**
     * Fails with `rate_limited` less than 60 seconds after the last report, and with `reporter_taken` if
     * another API key uses the name. Not retried if it may have succeeded.
     */
    report: async (project: string, body: KeyUseReport, options?: CallOptions) =>
      send<KeyUsesReported>(create(all(project), body, 'unknown'), options),
    /** The verifiers that report, by name. */
    reporters: async (project: string, options?: CallOptions) =>
      send<KeyReporter[]>(readList(all(project)), options),
    /** Removes a verifier, with what it has reported. */
    removeReporter: async (project: string, reporter: string, options?: CallOptions) =>
      send<void>(remove(`${all(project)}/${pathSegment(reporter, 'reporter')}`), options),
    /** Who has fetched the key set, by user agent, as seen by the replica that answers. */
    verifiers: async (project: string, options?: CallOptions) =>
      send<Verifiers>(read(`${projectPath(project)}/verifiers`, 'verifiers'), options),
  }
}
