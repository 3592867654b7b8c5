import type { CallOptions, Precondition } from './call-options.ts'
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

/**
 * JWT keys: the public keys that tokens are verified with.
 *
 * @example
 * const { kid } = await client.keys.create('payments', { name: 'spring', algorithm: 'RSA', publicKeyPem })
 * await client.keys.update('payments', kid, { active: false })
 */
export type KeyOperations = {
  /** All keys, oldest first; with `active: true` only the active ones. */
  list(project: string, options?: CallOptions & { active?: boolean }): Promise<JwtKey[]>
  get(project: string, kid: string, options?: CallOptions): Promise<JwtKeyWithDetails>
  /** The state of each key, in the order of `list`. */
  states(project: string, options?: CallOptions): Promise<KeyStateEntry[]>
  /**
   * Registers a key and returns its `kid`. Not retried if it may have succeeded; a repeated call fails
   * with `duplicate_key` and the `kid` in `error.problem.kid`.
   */
  create(project: string, body: JwtKeyCreate, options?: CallOptions): Promise<{ kid: string }>
  /**
   * Changes the members in the patch and returns the updated key. `warnings` says if the project is
   * left without an active key, or the key vouched for others that are active.
   */
  update(
    project: string,
    kid: string,
    patch: JwtKeyUpdate,
    options?: CallOptions & Precondition,
  ): Promise<JwtKeyUpdated>
  /** Fails with `key_active` while the key is active. */
  delete(project: string, kid: string, options?: CallOptions & Precondition): Promise<void>
  /**
   * Lets a key end itself, by a token that it signed (`typ: pubring-end+jwt`). Needs no API key. Safe to
   * repeat: an end can only be set or brought nearer.
   */
  end(project: string, kid: string, token: string, options?: CallOptions): Promise<JwtKeyEnded>
  /** Imports all keys or none. Safe to repeat: keys that already exist are reported as `present`. */
  import(project: string, body: KeyImport, options?: CallOptions): Promise<KeyImportReport>
  /** Checks a key without registering it. */
  check(
    body: { publicKeyPem: string; algorithm?: Algorithm },
    options?: CallOptions,
  ): Promise<KeyCheck>
}

/**
 * Registration links, by which someone outside registers keys of a project.
 *
 * @example
 * const { url } = await client.registrationLinks.create('payments', { note: 'ACME Corp' })
 */
export type RegistrationLinkOperations = {
  /** All open links and the newest of the others, the newest first. */
  list(project: string, options?: CallOptions): Promise<RegistrationLink[]>
  get(project: string, id: string, options?: CallOptions): Promise<RegistrationLink>
  /** The result contains the address, which is shown only once. Not retried if it may have succeeded. */
  create(
    project: string,
    body: RegistrationLinkCreate,
    options?: CallOptions,
  ): Promise<RegistrationLinkCreated>
  /** Revokes the link, and ends the session of the browser that opened it. */
  delete(project: string, id: string, options?: CallOptions): Promise<void>
}

/**
 * Rotations: the replacement of keys, step by step. The service keeps their state.
 *
 * @example
 * const rotation = { from: oldKid, to: newKid, tokenLifetime: 900 }
 * const { id } = await client.rotations.start('payments', rotation)
 * await client.rotations.finish('payments', id)
 */
export type RotationOperations = {
  /** The rotations under way first, then the ended ones, each newest first. */
  list(project: string, options?: CallOptions): Promise<Rotation[]>
  get(project: string, id: string, options?: CallOptions): Promise<Rotation>
  /** Changes no key. Not retried if it may have succeeded; fails with `rotation_exists` then. */
  start(project: string, body: RotationCreate, options?: CallOptions): Promise<Rotation>
  update(
    project: string,
    id: string,
    patch: RotationUpdate,
    options?: CallOptions & Precondition,
  ): Promise<Rotation>
  /**
   * Sets the end of the old key, once every signer uses the new one: when the last token of the old one
   * has expired. Fails with `rotation_not_ready` until verifiers know the new key.
   */
  finish(project: string, id: string, options?: CallOptions): Promise<Rotation>
  /** Changes no key. */
  abandon(project: string, id: string, options?: CallOptions & Precondition): Promise<void>
}

/**
 * Reports of verifiers: which keys they have seen in use. What they add up to is at each key, in
 * `details.use`.
 *
 * @example
 * const uses = [{ kid, lastTime: new Date().toISOString() }]
 * await client.keyUses.report('payments', { reporter: 'orders-api', uses })
 */
export type KeyUseOperations = {
  /**
   * Fails with `rate_limited` less than 60 seconds after the last report, and with `reporter_taken` if
   * another API key uses the name. Not retried if it may have succeeded.
   */
  report(project: string, body: KeyUseReport, options?: CallOptions): Promise<KeyUsesReported>
  /** The verifiers that report, by name. */
  reporters(project: string, options?: CallOptions): Promise<KeyReporter[]>
  /** Removes a verifier, with what it has reported. */
  removeReporter(project: string, reporter: string, options?: CallOptions): Promise<void>
  /** Who has fetched the key set, by user agent, as seen by the replica that answers. */
  verifiers(project: string, options?: CallOptions): Promise<Verifiers>
}
